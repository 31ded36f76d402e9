#!/usr/bin/env bash
# adopt/adopt.sh TICKWHEEL DIRECTORY PROGRAM [ARGUMENT...]: measures what Tickwheel does for another program. Called by
# ./dev adopt, which installs the packages that this needs.
#
# TICKWHEEL is the prefix of an installed Tickwheel, DIRECTORY a folder for the program's sources and builds, PROGRAM a
# folder next to this script. Fetches the program's source package from the distribution and makes two copies of it; in
# the copy "after", our adapter takes the place of the program's timers. Builds both, runs the program's own tests in
# both, and has compare.py run the benchmark in both, in turn. ARGUMENTs are for compare.py.
#
# Next to PROGRAM/program.sh are the adapter's files, each with the name of the file that it replaces, and our benchmarks.
# program.sh describes the program. Its variables:
#   package, source_package  a package of the distribution, and the name of its source package
#   needs            packages that building and testing need (./dev adopt reads it)
# Its functions, which run in a copy of the sources:
#   adopt            puts the adapter in place, in the copy "after"
#   build_program    builds the program, its tests and the benchmark
#   run_tests        prints "pass NAME" or "fail NAME" for each of the program's own tests
#   run_bench        prints WORKLOAD, a value and its unit, separated by tabs; less is better
# They may use $here, the folder of program.sh; $jobs, how many processes may build; and $adapter_cflags and
# $adapter_libs, which are empty in the copy "before".
set -euo pipefail

say() { echo "adopt: $*" >&2; }
die() {
    say "$*"
    exit 1
}

[ $# -ge 3 ] || die "takes the prefix of Tickwheel, a directory and the name of a program"
tickwheel=$(cd "$1" && pwd)
adopt=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
program=$3
here=$adopt/$program
mkdir -p "$2/$program"
work=$(cd "$2/$program" && pwd)
again=("${BASH_SOURCE[0]}" "$1" "$2" "$3")
shift 3
jobs=$(nproc)
export here jobs

# shellcheck source=toolchains/apt_aside.sh
. "$adopt/../toolchains/apt_aside.sh"
# shellcheck source=adopt/libuv/program.sh
. "$here/program.sh"

# unpack: puts the sources into $work/source, with the distribution's patches.
unpack() {
    local scratch
    [ ! -d "$work/source" ] || return 0
    scratch=$work/scratch
    rm -rf "$scratch"
    # shellcheck disable=SC2154 # program.sh sets them
    fetch_source "$package" "$source_package" "$scratch" ||
        die "the source package $source_package could not be fetched; see above"
    dpkg-source --no-check -q -x "$scratch"/package/*.dsc "$scratch/source" >&2 ||
        die "the source package $source_package could not be unpacked; see above"
    rm -f "$work"/*.dsc
    mv "$scratch"/package/*.dsc "$work"
    mv "$scratch/source" "$work/source"
    rm -rf "$scratch"
}

# in_copy COPY FUNCTION: runs a function of program.sh in a copy.
in_copy() {
    (
        cd "$work/$1"
        adapter_cflags='' adapter_libs=''
        if [ "$1" = after ]; then
            adapter_cflags=-I$tickwheel/include
            adapter_libs="$tickwheel/lib/libtickwheel.a -Wl,--exclude-libs,libtickwheel.a -pthread"
        fi
        export adapter_cflags adapter_libs
        "$2"
    )
}

build_copies() {
    local copy
    for copy in before after; do
        say "$program: building, $copy"
        rm -rf "${work:?}/$copy"
        cp -R "$work/source" "$work/$copy"
        "${again[@]}" --run $copy build_$copy >"$work/$copy.log" 2>&1 || {
            tail -n 30 "$work/$copy.log" >&2
            die "$program does not build, $copy; see above, and $work/$copy.log"
        }
    done
}

build_before() { build_program; }

build_after() {
    adopt
    build_program
}

# With --run COPY FUNCTION this script runs a function of its own or of program.sh in a copy. Other processes call it so,
# and so does build_copies: in a function before || a command that fails would not end the shell.
case ${1:-} in
--run)
    in_copy "$2" "$3"
    ;;
*)
    unpack
    build_copies
    version=$(sed -n 's/^Version: //p' "$work"/*.dsc)
    exec python3 -B "$adopt/compare.py" "$program" "$version" "$work" "$@" -- "${again[@]}"
    ;;
esac
