#!/usr/bin/env bash
# daemon.sh PROGRAM: the program prints that it is ready and alive, and on SIGTERM it exits with 0. This
# script measures no times; it only limits the waits.
set -euo pipefail
program=$1 seen=""

fail() {
    echo "$*; it said: $seen" >&2
    exit 1
}

exec {said}< <(exec "$program" 2>&1)
pid=$!
trap 'kill -KILL "$pid" 2>/dev/null || true' EXIT

# Waits until the program has printed WORD.
wait_for() {
    local line
    until [[ $seen == *" $1 "* ]]; do
        read -r -t 60 -u "$said" line || fail "the daemon did not say \"$1\""
        seen+=" $line "
    done
}

wait_for ready
wait_for alive
kill -TERM "$pid"
wait_for stopped
status=0
wait "$pid" || status=$?
trap - EXIT
[ "$status" -eq 0 ] || fail "the daemon ended with $status"
