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

# configure TREE TICK_BITS RUNTIME SMALL VALIDATION: writes config.h.
configure() {
    sed -e "s/@TW_TREE_01@/$1/; s/@TW_TICK_BITS@/$2/; s/@TW_RUNTIME_01@/$3/; s/@TW_SMALL_01@/$4/" \
        -e "s/@TW_VALIDATION_01@/$5/" "$root/include/tickwheel/config.h.in" >"$scratch/tickwheel/config.h"
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
    for validation in 1 0; do
        for small in 1 0; do
            for ticks in 64 32; do
                configure 1 $ticks 0 $small $validation
                compile "$compiler" -Os
            done
        done
        configure 0 64 0 0 $validation
        compile "$compiler" -Os
    done
    configure 0 64 1 0 1
    compile "$compiler" -O2
    compile "$compiler" -O2 -DNDEBUG
done
[ $compiled -gt 0 ] || { echo "none of these compilers is here: $*"; status=1; }
exit $status
