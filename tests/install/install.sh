#!/bin/sh
# install.sh SOURCE SCRATCH GENERATOR CC CXX static|shared|wheel|durable|PREFIX [BUILD]: installs the library
# into a fresh prefix as a user would, and builds and runs programs that find it by find_package and by
# pkg-config.
#
#   wheel    the library without the runtime
#   durable  the library without durable timers, and then durable timers by themselves, built against the
#            installed library and installed in a prefix of their own
#   PREFIX   a path: installs nothing, and tries the shared library that is installed there
#   BUILD    a static build of type Release. The script installs this build, or links a shared library from
#            its objects
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
        -DCMAKE_INSTALL_LIBDIR="$prefix/lib" -DCMAKE_INSTALL_INCLUDEDIR="$prefix/include" -DTW_RUNTIME=$runtime \
        ${build:+"-DCMAKE_C_COMPILER_LAUNCHER=sh;$here/reuse.sh;$build"} \
        ${build:+"-DCMAKE_CXX_COMPILER_LAUNCHER=sh;$here/reuse.sh;$build"}
    quietly cmake --build "$scratch/build"
    quietly cmake --install "$scratch/build"
}

install_durable_alone() {
    if [ -n "$build" ]; then
        quietly cmake --install "$build" --prefix "$prefix"
        find "$prefix" -name '*durable*' -prune -exec rm -r {} +
    else
        configure "$source" "$scratch/build" -DCMAKE_INSTALL_PREFIX="$prefix" -DTW_DURABLE=OFF -DTW_BUILD=
        quietly cmake --build "$scratch/build" --target install
    fi
    configure "$source/durable" "$scratch/durable_build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_INSTALL_PREFIX="$durable" \
        ${build:+"-DCMAKE_CXX_COMPILER_LAUNCHER=sh;$here/reuse.sh;$build/durable"}
    quietly cmake --build "$scratch/durable_build" --target install
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
    if [ -z "$is_installed" ] && [ -e "$prefix/bin/tickwheel-jobs" ]; then # finds its libraries under any prefix
        quietly "$prefix/bin/tickwheel-jobs" --help
    fi
    test -f "$prefix/share/tickwheel/tickwheel-gdb.py"
    diff -r "$source/include/tickwheel/loops" "$prefix/include/tickwheel/loops"
    if [ "$kind" = shared ]; then # where gdb looks for it: the library's name and path
        real=$(readlink -f "$library/libtickwheel.so")
        [ -z "$is_installed" ] || real=/usr${real#"$(readlink -f "$prefix")"} # where the package will install it
        test -f "$prefix/share/gdb/auto-load$real-gdb.py"
    fi
}

# by_find_package PROJECT OPTIONS...: builds its programs.
by_find_package() {
    project=$1
    shift
    configure "$here/$project" "$scratch/$project" -DCMAKE_PREFIX_PATH="$prefix" "$@"
    quietly cmake --build "$scratch/$project"
}

# by_pkg_config PACKAGE PROGRAM COMPILER FLAGS...: builds this program as `consumer`.
by_pkg_config() {
    package=$1 program=$here/$2
    shift 2
    # shellcheck disable=SC2046,SC2086  # these are lists of flags
    quietly "$@" $strict $(pkg-config --cflags $package) "$program" -o "$scratch/consumer" $(pkg-config --libs $package)
}

runs() { quietly env LD_LIBRARY_PATH="$library" "$@"; }

in_c() {
    by_find_package find_package
    runs "$scratch/find_package/consumer"
    by_pkg_config tickwheel consumer.c "$cc" -std=c99
    runs "$scratch/consumer"
}

in_cpp() {
    by_find_package find_package_cpp -DCMAKE_BUILD_TYPE=Debug
    runs "$scratch/find_package_cpp/consumer"
    by_pkg_config tickwheel consumer.c "$cxx" -x c++ -std=c++11
    runs "$scratch/consumer"
}

# In C, without naming the C++ library.
calendars() {
    runs "$scratch/find_package/calendar"
    by_pkg_config tickwheel-calendar calendar.c "$cc" -std=c99
    runs "$scratch/consumer"
}

# The component, which is installed if the build found its databases. In memory, and in a file.
durable_timers() {
    if ! pkg-config --exists tickwheel-durable; then
        return
    fi
    by_pkg_config tickwheel-durable durable.c "$cc" -std=c99
    for program in "$scratch/find_package/durable" "$scratch/consumer"; do
        rm -f "$scratch"/jobs.db*
        runs "$program" sqlite::memory:jobs "sqlite:$scratch/jobs.db"
    done
}

# Durable timers as a package of their own, as a component of the other package, and by pkg-config.
durable_alone() {
    by_find_package find_package_durable -DCMAKE_PREFIX_PATH="$prefix;$durable"
    by_find_package find_package -DCMAKE_PREFIX_PATH="$prefix;$durable"
    quietly "$scratch/find_package_durable/durable" "sqlite:$scratch/jobs.db"
    PKG_CONFIG_PATH=$PKG_CONFIG_PATH:$(dirname "$(find "$durable" -name tickwheel-durable.pc)")
    durable_timers
    quietly "$durable/bin/tickwheel-jobs" --version
}

# does_not_link "MACRO VALUE" PROGRAM COMPILER FLAGS...: with a config.h that differs from the library's
does_not_link() {
    macro=${1% *} value=${1#* } program=$2
    shift 2
    rm -rf "$scratch/other"
    cp -R "$prefix/include" "$scratch/other"
    sed -i "s/define $macro [0-9]*/define $macro $value/" "$scratch/other/tickwheel/config.h"
    # shellcheck disable=SC2046  # a list of flags
    if "$@" "-I$scratch/other" "$program" -o "$scratch/other/linked" $(pkg-config --libs tickwheel) >"$scratch/log" 2>&1; then
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

# The shared library exports what the headers declare, and a program can load it at run time.
shared_library() {
    sh "$here/exports.sh" "$library/libtickwheel.so" "$prefix/include" "$cc" "$scratch" "$source/src/tickwheel.map"
    sh "$here/exports.sh" "$library/libtickwheel_calendar.so" "$prefix/include" "$cc" "$scratch" \
        "$source/calendar/tickwheel_calendar.map" calendar
    [ ! -e "$library/libtickwheel_durable.so" ] || sh "$here/exports.sh" "$library/libtickwheel_durable.so" \
        "$prefix/include" "$cc" "$scratch" "$source/durable/src/tickwheel_durable.map" durable
    # shellcheck disable=SC2046,SC2086  # these are lists of flags
    quietly "$cc" -std=c11 $strict $(pkg-config --cflags tickwheel) "$here/loaded.c" -o "$scratch/loaded" -ldl -pthread
    quietly "$scratch/loaded" "$library/libtickwheel.so"
}

wheel_alone() {
    if [ -e "$prefix/include/tickwheel/runtime.h" ] || [ -e "$prefix/include/tickwheel/driver.h" ] ||
        [ -e "$prefix/include/tickwheel/calendar.h" ] || pkg-config --libs tickwheel | grep -q thread; then
        echo "the runtime is installed though it was not built"
        exit 1
    fi
    by_pkg_config tickwheel ../../examples/hello.c "$cc" -std=c99
    runs "$scratch/consumer"
    nm "$scratch/consumer" >"$scratch/symbols"
    by_pkg_config tickwheel ../../examples/hello.c "$cc" -std=c99 -Wl,--gc-sections
    runs "$scratch/consumer"
    nm "$scratch/consumer" >"$scratch/symbols_alone"
    if ! grep -q ' tw_advance$' "$scratch/symbols_alone" || ! grep -q ' tw_cancel_all$' "$scratch/symbols" ||
        grep ' tw_cancel_all$' "$scratch/symbols_alone"; then
        echo "a program that is linked with --gc-sections has what it does not call"
        exit 1
    fi
}

durable=$scratch/durable
case $kind$is_installed in
durable) install_durable_alone ;;
*1) ;;
*) install_library ;;
esac
library=$(dirname "$(find "$prefix" -name 'libtickwheel.*' ! -name '*.py' | head -n 1)")
PKG_CONFIG_PATH=$(dirname "$(find "$prefix" -name tickwheel.pc)")
export PKG_CONFIG_PATH
check_headers
case $kind$is_installed in
wheel) wheel_alone ;;
durable) durable_alone ;;
static)
    check_tools
    in_c
    calendars
    durable_timers
    in_cpp
    another_layout
    by_pkg_config tickwheel consumer.c "$cc" -std=c17 -O2 -flto
    runs "$scratch/consumer"
    ;;
shared*)
    check_tools
    in_c
    calendars
    durable_timers
    by_pkg_config tickwheel consumer.cpp "$cxx" -std=c++20
    runs "$scratch/consumer"
    shared_library
    [ -z "$is_installed" ] || in_cpp
    ;;
esac
