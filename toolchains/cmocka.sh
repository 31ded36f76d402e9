#!/usr/bin/env bash
# toolchains/cmocka.sh DIRECTORY: puts the distribution's sources of CMocka into DIRECTORY.
#
# Debian has no static CMocka for other processors, so we build it from the source package. The system need
# not list source packages: this script rewrites the entry from which libcmocka-dev comes into an entry for
# sources, and keeps the lists in DIRECTORY, so that nothing else changes.
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

read -r _ entry <<<"$(repository_of libcmocka-dev)"
found=${entry%:*}
[ -e "$found" ] || die "apt-get does not know libcmocka-dev; run apt-get update first"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/sources" "$scratch/package"
# Both forms of an entry: "Types: deb" and "deb [options] ...".
sed -e 's/^Types:.*/Types: deb-src/' -e 's/^deb\([[:space:]]\)/deb-src\1/' "$found" \
    >"$scratch/sources/cmocka.${found##*.}"
apt_aside "$scratch" update -qq
cd "$scratch/package"
apt_aside "$scratch" source -qq --download-only cmocka
rm -f ./*.asc # signatures; apt-get has checked the sums of what it fetched
cmake -E tar xf cmocka_*.orig.tar.*
cp -R cmocka-*/. "$directory"
[ -e "$directory/src/cmocka.c" ] || die "the source package of cmocka has no src/cmocka.c"
