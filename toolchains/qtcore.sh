#!/usr/bin/env bash
# toolchains/qtcore.sh DIRECTORY: puts the headers of QtCore into DIRECTORY, from the distribution's package.
#
# Installing that package would install 135 others, for graphics, which an event loop does not need: a
# download of 75 MB, and 316 MB on disk. These headers and the library are 6 MB and 32 MB.
set -euo pipefail

die() {
    echo "qtcore.sh: $*" >&2
    exit 1
}

[ $# -eq 1 ] || die "takes a directory"
[ ! -e "$1/QtCore/QCoreApplication" ] || exit 0
mkdir -p "$1"
directory=$(cd "$1" && pwd)

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
apt-get -qq -o APT::Sandbox::User= download qtbase5-dev || die "apt-get could not fetch qtbase5-dev; see above"
dpkg-deb -x qtbase5-dev_*.deb .
core=$(find usr/include -type d -name QtCore -print -quit)
[ -e "$core/QCoreApplication" ] || die "the package qtbase5-dev has no QtCore/QCoreApplication"
cp -R "$core" "$directory"
