#!/bin/sh
# table.sh [--strict] AT LIMITS AHEAD PLAIN QEMU...: runs two images, with look-ahead and
# without,
# and prints their counts beside the limits. Fails if an image fails; with --strict, also if a
# figure exceeds its limit. AT is the compiler's optimisation level.
set -eu
strict=0
if [ "$1" = --strict ]; then
    strict=1
    shift
fi
at=$1 limits=$2 ahead=$3 plain=$4
shift 4

# run IMAGE: prints its lines, without QEMU's own
run() {
    image=$1
    shift
    "$@" -kernel "$image" 2>&1
}
ahead=$(run "$ahead" "$@") || { echo "$ahead" && exit 1; }
plain=$(run "$plain" "$@") || { echo "$plain" && exit 1; }

{
    sed 's/^/limit /' "$limits"
    echo "$plain" | sed 's/^/plain /'
    echo "$ahead" | sed 's/^/ahead /'
} | awk -v strict="$strict" -v at="$at" '
    {
        kind = $1
        sub(/^[a-z]+ /, "")
        if (split($0, field, ": ") != 2 || /^#/)
            next
        split(field[2], number, " ")
    }
    kind == "limit" { limit[field[1]] = number[1]; should_be[field[1]] = number[4] }
    kind == "plain" { plain_least[field[1]] = number[1]; plain_most[field[1]] = number[2] }
    kind == "ahead" {
        if (!rows++)
            printf "%-42s %17s %17s %8s\n", "instructions at " at ", least and most", "look-ahead", "without", "limit"
        name = field[1]
        bound = verdict = ""
        if (name in limit) {
            judged++
            bound = limit[name]
            most = bound ~ /%/ ? plain_most[name] * bound / 100 : bound + 0
            if (number[2] > most) {
                verdict = "  over"
                over++
            } else if (should_be[name] != "") {
                verdict = "  should be " should_be[name]
            }
        }
        printf "%-42s %8d %8d %8d %8d %8s%s\n", name, number[1], number[2], plain_least[name], plain_most[name],
            bound, verdict
    }
    END {
        for (name in limit)
            limits++
        if (judged != limits) {
            print "a limit without a figure"
            exit 1
        }
        exit strict && over > 0
    }'
