#!/bin/sh
# install.sh SOURCE SCRATCH GENERATOR CC CXX static|shared|wheel|PREFIX [BUILD]: installs the library
# into a fresh prefix as a user would, and builds and runs a program against it, once by
# find_package and in each language through pkg-config. `wheel`: without the runtime. PREFIX, the
# path of a shared library's: what is installed there already is tried. BUILD, a static build of type Release: it is
# installed, or a shared library is linked from its objects.
set -eu
source=$1 scratch=$2 generator=$3 cc=$4 cxx=$5 kind=$6 build=${7:-}
here=$(cd "$(dirname "$0")" && pwd)
prefix=$scratch/prefix
strict="-Wall -Wextra -Wpedantic -Wshadow -Wundef -Wconversion -Werror"
shared=OFF
[ "$kind" = shared ] && shared=ON
case $kind in
/*) prefix=$kind kind=shared is_installed=1 ;;
*) is_installed= ;;
esac
runtime=ON
[ "$kind" = wheel ] && runtime=OFF

unset CFLAGS CXXFLAGS LDFLAGS PKG_CONFIG_PATH || true
rm -rf "$scratch"
mkdir -p "$scratch"

quietly() {
    "$@" >"$scratch/log" 2>&1 || {
        echo "failed: $*"
        cat "$scratch/log"
        exit 1
    }
}

# configure SOURCE BUILD OPTIONS...
configure() {
    from=$1 to=$2
    shift 2
    quietly cmake -G "$generator" -S "$from" -B "$to" -DCMAKE_C_COMPILER="$cc" -DCMAKE_CXX_COMPILER="$cxx" \
        -DCMAKE_BUILD_TYPE=Release "$@"
}

install_library() {
    if [ -n "$build" ] && [ "$kind" = static ]; then
        quietly cmake --install "$build" --prefix "$prefix"
        return
    fi
    configure "$source" "$scratch/build" -DBUILD_SHARED_LIBS="$shared" -DCMAKE_INSTALL_PREFIX="$prefix" \
        -DTW_RUNTIME=$runtime ${build:+"-DCMAKE_C_COMPILER_LAUNCHER=sh;$here/reuse.sh;$build"} \
        ${build:+"-DCMAKE_CXX_COMPILER_LAUNCHER=sh;$here/reuse.sh;$build"}
    quietly cmake --build "$scratch/build"
    quietly cmake --install "$scratch/build"
}

# Internal headers are not installed.
check_headers() {
    test -f "$prefix/include/tickwheel/tw.h"
    test -f "$prefix/include/tickwheel/config.h"
    for private in port.h config.h.in; do
        if [ -e "$prefix/include/tickwheel/$private" ]; then
            echo "$private is installed"
            exit 1
        fi
    done
}

check_tools() {
    quietly env LD_LIBRARY_PATH="$library" "$prefix/bin/tickwheel-top" --version
    test -f "$prefix/share/tickwheel/tickwheel-gdb.py"
    if [ "$kind" = shared ]; then # where gdb looks for it: the library's name and path
        real=$(readlink -f "$library/libtickwheel.so")
        [ -z "$is_installed" ] || real=/usr${real#"$(readlink -f "$prefix")"} # it will be there
        test -f "$prefix/share/gdb/auto-load$real-gdb.py"
    fi
}

by_find_package() {
    configure "$here/find_package" "$scratch/found" -DCMAKE_PREFIX_PATH="$prefix"
    quietly cmake --build "$scratch/found"
    quietly "$scratch/found/consumer"
}

# Without an explicit standard: the target sets it.
by_find_package_in_cpp() {
    configure "$here/find_package_cpp" "$scratch/found_cpp" -DCMAKE_PREFIX_PATH="$prefix"
    quietly cmake --build "$scratch/found_cpp"
    quietly "$scratch/found_cpp/consumer"
}

# In an older language, the first and only thing that each header says is that it needs C++20.
in_an_older_language() {
    for header in $(cd "$prefix/include" && find tickwheel -name '*.hpp'); do
        for standard in c++11 c++17; do
            echo "#include <$header>" >"$scratch/older.cpp"
            # shellcheck disable=SC2086  # these are lists of flags
            if "$cxx" -std=$standard -fsyntax-only $flags_of_package "$scratch/older.cpp" 2>"$scratch/log" ||
                [ "$(grep -cE '(error|warning|note):' "$scratch/log")" -ne 1 ] || ! grep -q 'error: .*need C++20' "$scratch/log"; then
                echo "$header in $standard said:"
                cat "$scratch/log"
                exit 1
            fi
        done
    done
}

# by_pkg_config PROGRAM COMPILER FLAGS...
by_pkg_config() {
    program=$1
    shift
    # shellcheck disable=SC2086  # these are lists of flags
    quietly "$@" $strict $flags_of_package "$here/$program" -o "$scratch/consumer" $libraries_of_package
    quietly env LD_LIBRARY_PATH="$library" "$scratch/consumer"
}

in_each_language() {
    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name tickwheel.pc)")
    export PKG_CONFIG_PATH
    flags_of_package=$(pkg-config --cflags tickwheel)
    libraries_of_package=$(pkg-config --libs tickwheel)
    for standard in c99 c11 c17; do
        by_pkg_config consumer.c "$cc" -std=$standard
    done
    by_pkg_config consumer.c "$cxx" -x c++ -std=c++11
    by_pkg_config consumer.c "$cxx" -x c++ -std=c++20
    by_pkg_config consumer.cpp "$cxx" -std=c++20
    by_pkg_config consumer.c "$cc" -std=c17 -O2 -flto
}

# The component that is there if its databases were. In memory, and in a file.
durable_timers() {
    if ! pkg-config --exists tickwheel-durable; then
        return
    fi
    configure "$here/find_package_durable" "$scratch/found_durable" -DCMAKE_PREFIX_PATH="$prefix"
    quietly cmake --build "$scratch/found_durable"
    # shellcheck disable=SC2046  # these are lists of flags
    quietly "$cc" -std=c99 $strict $(pkg-config --cflags tickwheel-durable) "$here/durable.c" -o "$scratch/durable" \
        $(pkg-config --libs tickwheel-durable)
    for program in "$scratch/found_durable/durable" "$scratch/durable"; do
        rm -f "$scratch"/jobs.db*
        quietly env LD_LIBRARY_PATH="$library" "$program" memory:jobs "sqlite:$scratch/jobs.db"
    done
}

# does_not_link "MACRO VALUE" PROGRAM FLAGS...: with a config.h that differs from the library's
does_not_link() {
    macro=${1% *} value=${1#* } program=$2
    shift 2
    rm -rf "$scratch/other"
    cp -R "$prefix/include" "$scratch/other"
    sed -i "s/define $macro [0-9]*/define $macro $value/" "$scratch/other/tickwheel/config.h"
    # shellcheck disable=SC2086  # these are lists of flags
    if "$@" "-I$scratch/other" $flags_of_package "$program" -o "$scratch/other/linked" $libraries_of_package \
        >"$scratch/log" 2>&1; then
        echo "linked with another $macro than the library's: $*"
        exit 1
    fi
    grep -qE "undefined.*tw_(node_)?init_(tree|wheel)_" "$scratch/log" || {
        echo "did not say why it does not link: $*"
        cat "$scratch/log"
        exit 1
    }
}

another_layout() {
    for other in "TW_TREE 1" "TW_RUNTIME 0"; do
        does_not_link "$other" "$source/examples/hello.c" "$cc" -std=c99
        does_not_link "$other" "$source/examples/hello.c" "$cc" -flto -O2
        does_not_link "$other" "$here/consumer.c" "$cxx" -x c++ -std=c++11
    done
}

wheel_alone() {
    PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name tickwheel.pc)")
    export PKG_CONFIG_PATH
    if [ -e "$prefix/include/tickwheel/runtime.h" ] || [ -e "$prefix/include/tickwheel/driver.h" ] ||
        pkg-config --libs tickwheel | grep -q thread; then
        echo "the runtime is installed though it was not built"
        exit 1
    fi
    # shellcheck disable=SC2046  # these are lists of flags
    quietly "$cc" -std=c99 $(pkg-config --cflags tickwheel) "$source/examples/hello.c" -o "$scratch/hello" \
        $(pkg-config --libs tickwheel)
    quietly "$scratch/hello"
    # shellcheck disable=SC2046
    quietly "$cc" -std=c99 $(pkg-config --cflags tickwheel) "$source/examples/hello.c" -o "$scratch/hello_alone" \
        $(pkg-config --libs tickwheel) -Wl,--gc-sections
    quietly "$scratch/hello_alone"
    nm "$scratch/hello" >"$scratch/symbols"
    nm "$scratch/hello_alone" >"$scratch/symbols_alone"
    if ! grep -q ' tw_advance$' "$scratch/symbols_alone" || ! grep -q ' tw_clear$' "$scratch/symbols" ||
        grep ' tw_clear$' "$scratch/symbols_alone"; then
        echo "a program that is linked with --gc-sections has what it does not call"
        exit 1
    fi
}

[ -n "$is_installed" ] || install_library
library=$(dirname "$(find "$prefix" -name 'libtickwheel.*' ! -name '*.py' | head -n 1)")
check_headers
if [ "$kind" = wheel ]; then
    wheel_alone
    exit 0
fi
check_tools
by_find_package
by_find_package_in_cpp
in_each_language
durable_timers
[ "$kind" != static ] || in_an_older_language
[ -n "$is_installed" ] || another_layout
if [ "$kind" = shared ]; then
    sh "$here/exports.sh" "$library/libtickwheel.so" "$prefix/include" "$cc" "$scratch" \
        "$source/src/tickwheel.map"
    [ ! -e "$library/libtickwheel_durable.so" ] || sh "$here/exports.sh" "$library/libtickwheel_durable.so" \
        "$prefix/include" "$cc" "$scratch" "$source/src/durable/tickwheel_durable.map" durable
    # shellcheck disable=SC2086  # a list of flags
    quietly "$cc" -std=c11 $strict $flags_of_package "$here/loaded.c" -o "$scratch/loaded" -ldl -pthread
    quietly "$scratch/loaded" "$library/libtickwheel.so"
fi
