#!/bin/sh
# Counts the system calls that a loop makes for each timer that it fires, by their names. Runs the workload
# `lateness` twice under strace with a different number of fires, and prints the difference for each fire.
# strace's counts are exact and need no privileges; times under strace mean nothing.
#   usage: system_calls.sh [PATH/tickwheel_bench [IMPL...]]
set -eu

bench=${1:-$(dirname "$0")/../build/bench/bench/tickwheel_bench}
[ $# -eq 0 ] || shift
few=100
many=600

# count IMPL FIRES: prints the calls of one run, a line for each name: NAME CALLS
count() {
    table=$(mktemp)
    strace -f -qq -c -U name,calls -o "$table" "$bench" --once lateness --impl "$1" --ops "$2" >/dev/null || {
        cat "$table" >&2
        rm -f "$table"
        echo "system_calls.sh: $1 failed" >&2
        exit 1
    }
    awk '$2 ~ /^[0-9]+$/ && $1 != "total" { print $1, $2 }' "$table"
    rm -f "$table"
}

command -v strace >/dev/null || { echo "system_calls.sh: strace is not installed" >&2; exit 1; }
[ $# -ne 0 ] || set -- tickwheel-sleep tickwheel-epoll tickwheel-uring tickwheel-timerfd timerfd-loop
printf '%-18s %s\n' "" "system calls per fire"
for impl in "$@"; do
    least=$(count "$impl" $few) && most=$(count "$impl" $many) || exit 1
    printf '%s\n--\n%s\n' "$least" "$most" | awk -v impl="$impl" -v span=$((many - few)) '
        /^--/ { second = 1; next }
        !second { before[$1] = $2; next }
        { each = ($2 - before[$1]) / span; all += each }
        each >= 0.005 { names = names sprintf("  %s %.2f", $1, each) }
        END { printf "%-18s %.2f:%s\n", impl, all, names }'
done
