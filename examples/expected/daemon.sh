#!/usr/bin/env bash
# daemon.sh PROGRAM: it says that it is ready and alive, and stops on SIGTERM, with 0.
# Nothing here is timed but how long to wait at most.
set -euo pipefail
program=$1 seen=""

fail() {
    echo "$*; it said: $seen" >&2
    exit 1
}

exec {said}< <(exec "$program" 2>&1)
pid=$!
trap 'kill -KILL "$pid" 2>/dev/null || true' EXIT

# Until it has said WORD.
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
