#!/bin/bash
# check.sh CHECK ECHOD LOAD: starts the daemon on any port, runs the function check_CHECK against it, stops it
# by SIGTERM, and checks its exit status and counts.
set -u
check=$1 echod=$2 load=$3
dir=$(mktemp -d)
daemon=
trap '[ -z "$daemon" ] || kill -KILL "$daemon" 2>/dev/null; rm -rf "$dir"' EXIT

fail() {
    echo "failed: $*"
    cat "$dir"/*
    exit 1
}

# start OPTION...: starts the daemon, with at most $descriptors descriptors; sets $daemon and $port.
descriptors=
start() {
    (ulimit ${descriptors:+-n $descriptors} >/dev/null && exec "$echod" "$@") >"$dir/daemon" 2>&1 &
    daemon=$!
    for ((i = 0; i < 600; ++i)); do
        port=$(sed -n 's/^listening on 127.0.0.1://p' "$dir/daemon" 2>/dev/null)
        [ -n "$port" ] && return
        kill -0 "$daemon" 2>/dev/null || break
        sleep 0.1
    done
    fail "the daemon does not listen"
}

# Waits for the end of the daemon, which has already got its signal.
ended() {
    wait "$daemon" || fail "the daemon ended with $?"
    daemon=
    is open 0
}

stop() {
    kill -TERM "$daemon"
    ended
}

# count FILE NAME: prints the number after NAME= in the output of the daemon or of the load client.
count() { sed -n "s/.* $2=\([0-9]*\).*/\1/p; s/^$2=\([0-9]*\).*/\1/p" "$dir/$1"; }

# is NAME NUMBER: checks one of the daemon's counts.
is() {
    local found
    found=$(count daemon "$1")
    [ "$found" = "$2" ] || fail "$1 is ${found:-missing}, not $2"
}

# at_least NAME NUMBER, at_most NAME NUMBER
at_least() { [ "$(count daemon "$1")" -ge "$2" ] || fail "$1 is less than $2"; }
at_most() { [ "$(count daemon "$1")" -le "$2" ] || fail "$1 is more than $2"; }

# run_load OPTION...: runs the load client and compares the counts of both sides.
timeouts="--idle 1500 --request 800 --keepalive 600"
no_timeouts="--idle 600000 --request 600000 --keepalive 0"
run_load() {
    "$load" --port "$port" --limit 200000 "$@" >"$dir/load" 2>&1 || fail "the load client complains"
    stop
    cat "$dir/load"
    tail -n 1 "$dir/daemon"
    is accepted "$(count load connections)"
    at_least echoed_bytes "$(count load echoed_bytes)"
    # If this machine had no time for the load client, peers may have met other timeouts.
    if [ "$(count load starved)" -eq 0 ]; then
        is idle_closed "$(count load silent_closed)"
        is request_timeouts "$(count load stalled_closed)"
        is echoed_bytes "$(count load echoed_bytes)"
        is left "$(count load left)"
    fi
}

# Suspends the daemon; returns when all its threads stand still.
hold_up() {
    kill -STOP "$daemon"
    for ((i = 0; i < 600; ++i)); do
        grep -hv '^[0-9]* ([^)]*) T ' /proc/"$daemon"/task/*/stat >/dev/null || return
        sleep 0.1
    done
    fail "the daemon goes on"
}

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# says DESCRIPTOR LINE, hears DESCRIPTOR LINE, hears_end DESCRIPTOR: a client in this shell.
connect() { eval "exec $1<>/dev/tcp/127.0.0.1/$port" || fail "no connection"; }
says() { printf '%b' "$2" >&"$1"; }
hears() {
    local line
    IFS= read -r -t 60 -u "$1" line || fail "no echo of '$2'"
    [ "$line" = "$2" ] || fail "'$line' instead of '$2'"
}
hears_end() {
    local line
    IFS= read -r -t 60 -u "$1" line
    [ $? -eq 1 ] && [ -z "$line" ] || fail "not the end of the connection"
}

# --- the checks ------------------------------------------------------------------------

# Every kind of client, two thousand of them.
check_load() {
    start $timeouts
    run_load $timeouts --connections 2000
}

# Clients that take no echo until the daemon can send no more.
check_backpressure() {
    start $no_timeouts
    run_load $no_timeouts --connections 5 --greedy 1
    is left 5
    at_least blocked_sends 1
    at_most vain_turns 10 # the daemon waits for room and for input, and does not spin
}

# Without free descriptors the daemon pauses accepting, and serves every client in the end.
check_descriptors() {
    local began
    began=$(now_ms)
    descriptors=60
    start $timeouts
    run_load $timeouts --connections 150
    at_most most_open "$descriptors"
    at_least accept_pauses 1
    at_most accept_pauses $((($(now_ms) - began) / 100 + 1)) # each pause takes 100 ms: no spinning
}

# The daemon accepts no more connections than allowed; the others wait in the kernel's queue.
check_connections() {
    start $timeouts --connections 50
    run_load $timeouts --connections 150
    is most_open 50
    is accept_pauses 0
}

# At SIGTERM an open request may finish; the daemon ends clients without a request at once.
check_grace() {
    start $no_timeouts --grace 60000
    connect 3 && connect 4
    says 3 'one\nhal' && hears 3 one # so the daemon has the half line, too
    says 4 'two\n' && hears 4 two
    kill -TERM "$daemon"
    hears_end 4
    (exec 5<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null && fail "it still accepts"
    says 3 'f\n' && hears 3 half
    hears_end 3
    ended
    is left 2
    is cut_off 0
}

# Open requests get the grace time, no more and no less.
check_cut_off() {
    local began
    start $no_timeouts --grace 300
    connect 3
    says 3 'one\nhal' && hears 3 one
    began=$(now_ms)
    kill -TERM "$daemon"
    hears_end 3
    [ $(($(now_ms) - began)) -ge 300 ] || fail "cut off too early"
    ended
    is cut_off 1
}

# If the daemon is held up beyond every timeout, bytes that were sent in time still count.
check_held_up() {
    start --idle 5000 --request 4500 --keepalive 0
    connect 3 && connect 4
    says 3 'one\n' && hears 3 one
    says 4 'two\nthr' && hears 4 two
    hold_up
    says 3 'four\n' && says 4 'ee\n'
    sleep 6
    kill -CONT "$daemon"
    hears 3 four
    hears 4 three
    stop
    is left 2
}

# A line that is too long ends its connection, and no other.
check_long_line() {
    start
    connect 3 && connect 4
    says 3 "$(printf '%01023d' 0)\\n" && hears 3 "$(printf '%01023d' 0)"
    says 3 "$(printf '%01024d' 0)" && hears_end 3
    says 4 'one\n' && hears 4 one
    stop
    is too_long 1
}

"check_$check"
