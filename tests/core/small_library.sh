#!/bin/sh
# small_library.sh SCRATCH LIBRARY CC FLAGS...: a call to a function that a small library leaves out does not
# link, and the linker names the function.
set -eu
scratch=$1 library=$2
shift 2
mkdir -p "$scratch"

# program CC FLAGS...: compiles a program that makes $call. The header declares all functions.
program() {
    printf '#include <tickwheel/tw.h>\nint main(int count, char **texts) {\n    struct tw *w = (struct tw *)(void *)texts;\n    return count > 9 && %s;\n}\n' "$call" >"$scratch/main.c"
    "$@" -c "$scratch/main.c" -o "$scratch/main.o"
}

links() { "$1" "$scratch/main.o" "$library" -o "$scratch/main" 2>"$scratch/log"; }

call='tw_cancel(w, 0)'
program "$@"
links "$@" || { cat "$scratch/log" && exit 1; }
for call in 'tw_arm_within(w, 0, 1, 1)' 'tw_overruns(w)' \
    'tw_take(w, 1, 0)' 'tw_cancel_all(w, 0, 0)'; do
    program "$@"
    if links "$@"; then
        echo "$call links"
        exit 1
    fi
    grep -q "undefined .*${call%%(*}" "$scratch/log" || { cat "$scratch/log" && exit 1; }
done
