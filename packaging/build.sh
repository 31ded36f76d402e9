#!/usr/bin/env bash
# build.sh DIRECTORY: makes Debian packages of this tree, in DIRECTORY. Run it by ./dev package, which
# installs what it needs and tries the packages.
#
# They are built in a copy of the tree, as Debian's tools want debian/ at the top and write beside it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

mkdir -p "$1"
directory=$(cd "$1" && pwd)
tree=$directory/tickwheel

rm -rf "$tree" "$directory"/*.deb
mkdir "$tree"
tar --exclude=./build --exclude=./.git -cf - . | tar -xf - -C "$tree"
cp -R packaging/debian "$tree/debian"

cd "$tree"
version=$(sed -nE 's/^#define TW_VERSION_(MAJOR|MINOR|PATCH) ([0-9]+)$/\2/p' include/tickwheel/version.h | paste -sd.)
packaged=$(dpkg-parsechangelog -S Version)
[ "${packaged%-*}" = "$version" ] || {
    echo "build.sh: version.h says $version, packaging/debian/changelog $packaged" >&2
    exit 1
}
dpkg-buildpackage --build=binary --no-sign --no-check-builddeps
