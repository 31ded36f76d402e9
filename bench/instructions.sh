#!/bin/sh
# Counts instructions per operation, which are steady where times are not. Runs the benchmark
# twice under callgrind with a different number of operations. The difference is the cost of the
# operations, including the few instructions of the benchmark's own loop.
#   usage: instructions.sh [PATH/tickwheel_bench]
set -eu

bench=${1:-$(dirname "$0")/../build/bench/bench/tickwheel_bench}
few=10000
many=110000

# total WORKLOAD IMPL OPERATIONS: prints the instructions of one run.
total() {
    log=$(valgrind --tool=callgrind --callgrind-out-file=/dev/null \
        "$bench" --once "$1" --impl "$2" --ops "$3" 2>&1) || {
        printf '%s\n' "$log" "instructions.sh: $1 of $2 failed" >&2
        exit 1
    }
    printf '%s\n' "$log" | sed -n 's/.*Collected : *//p'
}

# per_operation WORKLOAD IMPL: prints the instructions of one operation.
per_operation() {
    least=$(total "$1" "$2" $few) && most=$(total "$1" "$2" $many) || exit 1
    awk -v least="$least" -v most="$most" -v span=$((many - few)) \
        'BEGIN { printf "%.1f", (most - least) / span }'
}

command -v valgrind >/dev/null || { echo "instructions.sh: valgrind is not installed" >&2; exit 1; }
printf '%-18s %12s %12s\n' 'instructions per' 'rearm-hot' 'idle-tick'
for impl in tickwheel tickwheel-locked heap4; do
    hot=$(per_operation rearm-hot $impl)
    idle=$(per_operation idle-tick $impl)
    printf '%-18s %12s %12s\n' "$impl" "$hot" "$idle"
done
hot=$(per_operation rearm-hot libev)
printf '%-18s %12s %12s\n' libev "$hot" -
