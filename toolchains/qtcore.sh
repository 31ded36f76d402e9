#!/usr/bin/env bash
# toolchains/qtcore.sh DIRECTORY: puts Qt's headers of QtCore there, from the distribution's package.
#
# To install that package takes 135 others, for graphics, which an event loop needs none of: 75 MB, and
# 316 MB on disk. These headers and the library beside them are 6 MB, and 32 MB.
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
