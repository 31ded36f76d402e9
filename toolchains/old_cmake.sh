#!/usr/bin/env bash
# toolchains/old_cmake.sh DIRECTORY: unpacks the CMake of Debian 11, 3.18, into DIRECTORY, as DIRECTORY/cmake.
# This is the oldest version that must build the library.
set -euo pipefail

die() {
    echo "old_cmake.sh: $*" >&2
    exit 1
}

[ $# -eq 1 ] || die "takes a directory"
mkdir -p "$1"
directory=$(cd "$1" && pwd)
[ ! -x "$directory/cmake" ] || exit 0
command -v apt-get >/dev/null || die "no apt-get here"

# shellcheck source=toolchains/apt_aside.sh
. "$(dirname "${BASH_SOURCE[0]}")/apt_aside.sh"

keys=/usr/share/keyrings/debian-archive-keyring.gpg
read -r repository _ <<<"$(repository_of cmake)"
[[ -e $keys && $repository = */debian/ ]] || die "the system's packages are not Debian's"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/sources"
echo "deb [signed-by=$keys] $repository bullseye main" >"$scratch/sources/bullseye.list"
apt_aside "$scratch" update -qq
cd "$scratch"
apt_aside "$scratch" download -qq cmake/bullseye cmake-data/bullseye libjsoncpp24/bullseye
for package in *.deb; do
    dpkg-deb -x "$package" "$directory"
done
cat >"$directory/cmake" <<'END'
#!/bin/sh
here=$(dirname "$0")
LD_LIBRARY_PATH=$(echo "$here"/usr/lib/*-linux-gnu*) exec "$here/usr/bin/cmake" "$@"
END
chmod +x "$directory/cmake"
"$directory/cmake" --version >/dev/null || die "it does not run here"
