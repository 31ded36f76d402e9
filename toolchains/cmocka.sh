#!/usr/bin/env bash
# toolchains/cmocka.sh DIRECTORY: puts the distribution's sources of CMocka into DIRECTORY.
#
# Debian has no static CMocka for other processors, so we build it from the source package.
set -euo pipefail

die() {
    echo "cmocka.sh: $*" >&2
    exit 1
}

[ $# -eq 1 ] || die "takes a directory"
mkdir -p "$1"
directory=$(cd "$1" && pwd)
[ ! -e "$directory/src/cmocka.c" ] || exit 0
command -v apt-get >/dev/null ||
    die "no apt-get here: unpack CMocka's sources in $directory"

# shellcheck source=toolchains/apt_aside.sh
. "$(dirname "${BASH_SOURCE[0]}")/apt_aside.sh"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
fetch_source libcmocka-dev cmocka "$scratch"
cd "$scratch/package"
rm -f ./*.asc # signatures; apt-get has checked the sums of what it fetched
cmake -E tar xf cmocka_*.orig.tar.*
cp -R cmocka-*/. "$directory"
[ -e "$directory/src/cmocka.c" ] || die "the source package of cmocka has no src/cmocka.c"
