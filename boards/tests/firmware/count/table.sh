#!/bin/sh
# table.sh AT LIMITS COLUMN=IMAGE... -- QEMU...: runs images and prints their counts side by side: a row for
# each figure, a column for each image. AT is the compiler's optimisation level. LIMITS is a file of limits, or
# none. Fails if an image fails, if a figure exceeds its limit, or if a limit has no figure.
set -eu
at=$1 limits=$2
shift 2
tab=$(printf '\t')
columns=
while [ "$1" != -- ]; do
    columns=$columns$1$tab
    shift
done
shift
lines=$(mktemp)
trap 'rm -f "$lines"' EXIT

[ "$limits" = none ] || sed "/^#/d; s/^/$tab/" "$limits" >"$lines"
IFS=$tab
for column in $columns; do
    figures=$("$@" -kernel "${column#*=}" 2>&1) || { echo "$figures" && exit 1; }
    echo "$figures" | sed "s/^/${column%%=*}$tab/" >>"$lines"
done

awk -F "$tab" -v SUBSEP=': ' -v at="$at" '
    $1 == "" && /: / {  # a limit
        split($2, field, ": ")
        split(field[2], number, " ")
        if (is_here) {
            limit[section, field[1]] = number[1]
            should_be[section, field[1]] = number[4]
        }
        next
    }
    $1 == "" {  # the heading of limits
        section = $2
        is_here = sub("^" at " ", "", section)
        next
    }
    split($2, field, ": ") == 2 {  # a figure; other lines are QEMU'"'"'s own
        if (!($1 in is_column)) {
            is_column[$1] = 1
            column[++columns] = $1
        }
        if (!(field[1] in is_name)) {
            is_name[field[1]] = 1
            name[++names] = field[1]
        }
        split(field[2], number, " ")
        least[$1, field[1]] = number[1]
        most[$1, field[1]] = number[2]
    }
    function judge(key) {
        if (!(key in limit))
            return
        ++judged
        if (most[key] > limit[key] + 0)
            over = over sprintf("beyond its limit: %s: %d, at most %d\n", key, most[key], limit[key])
        else if (should_be[key] != "" && most[key] > should_be[key] + 0)
            above = above sprintf("%s: %d, should be at most %d\n", key, most[key], should_be[key])
    }
    END {
        printf "%-42s", "instructions at " at
        for (c = 1; c <= columns; ++c)
            printf "  %18s", column[c]
        printf "\n%-42s", ""
        for (c = 1; c <= columns; ++c)
            printf "  %6s%6s%6s", "least", "most", "limit"
        print ""
        for (n = 1; n <= names; ++n) {
            line = sprintf("%-42s", name[n])
            for (c = 1; c <= columns; ++c) {
                key = column[c] SUBSEP name[n]
                line = line sprintf("  %6s%6s%6s", least[key], most[key], key in limit ? limit[key] : "")
                judge(key)
            }
            sub(/ +$/, "", line)
            print line
        }
        for (key in limit)
            ++limits
        if (judged != limits)
            over = over "a limit without a figure\n"
        printf "%s%s", above, over
        exit over != ""
    }' "$lines"
