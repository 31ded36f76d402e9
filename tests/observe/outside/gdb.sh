#!/bin/sh
# gdb.sh PRINTERS LOOKED_AT TREE: what gdb prints about a program at a breakpoint, about its core file, and
# about a tree. Exits with 77 if there is no gdb that may look at a process.
set -eu
printers=$1 looked_at=$2 tree=$3
folder=$(mktemp -d)
export XDG_RUNTIME_DIR="$folder" DEBUGINFOD_URLS=
trap 'rm -rf "$folder"' EXIT

command -v gdb >/dev/null || { echo "left out: gdb is not installed" && exit 77; }

# debug ARGUMENT...: quiet, with the printers and without the user's own settings
debug() { gdb --nx --batch -iex 'set auto-load off' -ex "source $printers" "$@" </dev/null 2>&1; }

prints='print far
print idle
print often
print *the_runtime
print the_runtime->steady.wheel
print *handles
print a_handle'
echo "$prints" >"$folder/prints"

# printed FILE PATTERN: fails unless a line of FILE matches
printed() {
    grep -qE -- "$2" "$folder/$1" || { cat "$folder/$1" && echo "not printed ($1): $2" && exit 1; }
}

check() {
    printed "$1" '^\$1 = pending, due in (83\.3|5000|1\.38)[0-9.]* (h|min|s), label "far \\x1b.31m away", calls on_timeout\(0x0\)$'
    printed "$1" '^\$2 = idle, calls on_timeout\(0x0\)$'
    printed "$1" '^\$3 = pending, due in .*, every 10 ms \(coalesce\), label "often", calls on_timeout\(0x0\)$'
    printed "$1" '^\$4 = runtime "looked at", driver sleep, monotonic clock, ticks of 1 ms, woke up [0-9]+ times = \{'
    printed "$1" '\[steady\] = wheel at tick [0-9]+, 2 pending'
    printed "$1" "\[timers of the library's own\] = .*1 pending"
    printed "$1" '\["often"\] = .*[5-9] fires'
    printed "$1" '^\$5 = wheel at tick [0-9]+, 2 pending.* = \{.*\[0x[0-9a-f]+\] = pending, .*"often".*\[0x[0-9a-f]+\] = pending, .*"far'
    printed "$1" '^\$6 = 1 timers of handles, label "session"$'
    printed "$1" '^\$7 = cell [0-9]+, generation [0-9]+$'
    if grep -iE 'traceback|python exception|error reading' "$folder/$1"; then
        cat "$folder/$1"
        exit 1
    fi
}

debug -ex 'set startup-with-shell off' -ex 'set disable-randomization off' -ex 'break all_is_there' -ex run \
    -x "$folder/prints" -ex "generate-core-file $folder/core" -ex kill "$looked_at" >"$folder/live" || true
if grep -qiE 'operation not permitted|could not trace|ptrace' "$folder/live"; then
    grep -iE 'operation not permitted|could not trace|ptrace' "$folder/live"
    echo "left out: gdb may not look at a process here"
    exit 77
fi
check live
debug -x "$folder/prints" "$looked_at" "$folder/core" >"$folder/dead"
check dead

# The printers call no function of the process: with a core file there is no process.
printed dead '^\$7'

debug -ex 'set startup-with-shell off' -ex 'set disable-randomization off' -ex 'break all_is_there' -ex run \
    -ex 'print the_wheel' -ex kill "$tree" >"$folder/tree" || true
printed tree '^\$1 = wheel at tick 5, 6 pending = \{\[0x[0-9a-f]+\] = pending, due at tick 7, in 2,'
printed tree '(\[0x[0-9a-f]+\] = pending, due at tick (7|9|11|1000), .*){5}'
