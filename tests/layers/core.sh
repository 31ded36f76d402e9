#!/bin/sh
# core.sh ROOT SCRATCH NM READELF none|linux COMPILER...: the core compiles as C++17 without extensions and
# without a warning, with each of these compilers that is installed, in every combination of settings that
# selects other code, and so that gcc 7 could compile it, too. The core's object requires no symbols but those that
# core_object.sh allows: with the port `none`, and from the first compiler also with the port `linux`, if given.
set -u
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$1" && pwd) || exit 1
scratch=$2 nm=$3 readelf=$4 system=$5
shift 5
first=$1
compiled=0
status=0
mkdir -p "$scratch/tickwheel" || exit 1

# The symbols that the core requires with the port for Linux.
symbols_of_linux="tw_port_lock_contended tw_port_wake_waiter tw_port_futex_wait tw_port_futex_wake_all tw_port_tell
    pthread_self tw_port_is_observed tw_port_lock_observed tw_port_unlock_observed tw_port_hide"

# configure TREE TICK_BITS RUNTIME SMALL VALIDATION: writes config.h.
configure() {
    sed -e "s/@TW_TREE_01@/$1/; s/@TW_TICK_BITS@/$2/; s/@TW_RUNTIME_01@/$3/; s/@TW_SMALL_01@/$4/" \
        -e "s/@TW_VALIDATION_01@/$5/" "$root/include/tickwheel/config.h.in" >"$scratch/tickwheel/config.h"
}

# compile PORT COMPILER OPTION...: compiles the core with the options of the library.
compile() {
    port=$1
    shift
    compiled=$((compiled + 1))
    set -- "$@" -pedantic-errors -Wall -Wextra -Werror -ffreestanding -fno-exceptions -fno-rtti -fno-threadsafe-statics \
        -fPIC -fvisibility=hidden -ffunction-sections -fdata-sections -I"$root/include" -I"$root/src" -I"$scratch" \
        -DTW_PORT_HEADER="\"$root/src/ports/$port/port.h\"" "$root/src/core/c_api.cpp" -MD -MF "$scratch/headers"
    "$@" && return
    echo "does not compile: $* with"
    grep '^#define' "$scratch/tickwheel/config.h"
    status=1
}

# understood COMPILER TREE TICK_BITS RUNTIME SMALL VALIDATION
understood() {
    compiler=$1
    shift
    configure "$@"
    compile none "$compiler" -std=c++17 -fsyntax-only
    # Later compilers have this header in all languages. It is empty before C++20.
    if grep -qE '/bit( |$)' "$scratch/headers"; then
        echo "includes <bit>, which gcc has since 9: $*"
        status=1
    fi
}

# object PORT COMPILER OPTION...
object() {
    symbols=none
    [ "$1" = none ] || symbols=$symbols_of_linux
    compile "$@" -c -o "$scratch/c_api.o"
    sh "$here/core_object.sh" "$nm" "$readelf" "$symbols" "$scratch/c_api.o" || status=1
}

for compiler; do
    command -v "$compiler" >/dev/null || continue
    for validation in 1 0; do
        for small in 1 0; do
            for ticks in 64 32; do
                understood "$compiler" 1 $ticks 0 $small $validation
            done
        done
        understood "$compiler" 0 64 0 0 $validation
    done
    understood "$compiler" 0 64 1 0 1
    object none "$compiler" -std=c++17 -Os -DNDEBUG
done
object none "$first" -std=c++17 -O0
object none "$first" -std=c++17 -O2 -DNDEBUG
[ $compiled -gt 0 ] || { echo "none of these compilers is here: $*"; status=1; }
[ "$system" != linux ] || object linux "$first" -std=c++20 -O2 -DNDEBUG
exit $status
