#!/bin/sh
# cpp17.sh ROOT SCRATCH COMPILER...: the core compiles as C++17 without extensions and without a warning, by each of
# these compilers that is here, at each branch that a setting chooses; so also by gcc 7.
set -u
root=$(cd "$1" && pwd) || exit 1
scratch=$2
shift 2
compiled=0
status=0
mkdir -p "$scratch/tickwheel" || exit 1

# configure FEATURES SETTING=VALUE...: writes config.h. FEATURES is the value of all that is 1 or 0 and not named.
configure() {
    features=$1
    shift
    config=$(cat "$root/include/tickwheel/config.h.in")
    for setting; do
        config=$(echo "$config" | sed "s/@${setting%=*}@/${setting#*=}/")
    done
    echo "$config" | sed -E "s/@TW_[A-Z_]+_01@/$features/" >"$scratch/tickwheel/config.h"
}

# compile COMPILER OPTION...
compile() {
    set -- "$@" -std=c++17 -pedantic-errors -Wall -Wextra -Werror -ffreestanding -fno-exceptions -fno-rtti \
        -fno-threadsafe-statics -I"$root/include" -I"$root/src" -I"$scratch" \
        -DTW_PORT_HEADER="\"$root/src/ports/none/port.h\"" "$root/src/core/c_api.cpp"
    if ! "$@" -c -o "$scratch/c_api.o"; then
        echo "does not compile: $* with"
        grep '^#define' "$scratch/tickwheel/config.h"
        status=1
    # Later compilers have this header in all languages. It is empty before C++20.
    elif "$@" -M | grep -qE '/bit( |$)'; then
        echo "includes <bit>, which gcc has since 9: $*"
        status=1
    fi
    compiled=$((compiled + 1))
}

for compiler; do
    command -v "$compiler" >/dev/null || continue
    for features in 1 0; do
        for ticks in 64 32; do
            for tree in 1 0; do
                configure "$features" TW_BITS=5 TW_LEVELS=3 TW_LOOKAHEAD_01="$features" TW_TICK_BITS=$ticks \
                    TW_RUNTIME_01=0 TW_TREE_01=$tree
                compile "$compiler" -Os
            done
        done
    done
    configure 1 TW_BITS=8 TW_LEVELS=1 TW_LOOKAHEAD_01=0 TW_TICK_BITS=64 TW_RUNTIME_01=1 TW_TREE_01=0
    compile "$compiler" -O2
    compile "$compiler" -O2 -DNDEBUG
done
[ $compiled -gt 0 ] || { echo "none of these compilers is here: $*"; status=1; }
exit $status
