#!/usr/bin/env bash
# toolchains/cmocka.sh DIRECTORY: puts the sources of CMocka there, from the distribution.
#
# Debian has no static CMocka for other processors; its source package has. The system need
# not know of source packages: the entry that libcmocka-dev comes from is read once more, as
# one of sources, with lists of its own in DIRECTORY, so that nothing outside it changes.
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
    die "no apt-get here: unpack CMocka's sources in $directory, or name their place with -DTW_CMOCKA_SOURCE"

package_uri() {
    apt-get download --print-uris libcmocka-dev 2>/dev/null | sed -n "s/^'\([^']*\)'.*/\1/p"
}

# The file in /etc/apt that names the repository of libcmocka-dev.
entry_of_cmocka() {
    local uri repository entry
    uri=$(package_uri)
    while read -r repository entry; do
        [[ $uri != "$repository"* ]] || found=${entry%:*}
    done < <(apt-get indextargets --format "\$(REPO_URI) \$(SOURCESENTRY)" 'Created-By: Packages')
    [ -e "$found" ]
}

# apt DIRECTORY ARGUMENT...: apt-get that sees the sources of that directory, and no others.
apt() {
    local state=$1
    shift
    apt-get -o Dir::Etc::sourcelist=/dev/null -o Dir::Etc::sourceparts="$state/sources" \
        -o Dir::State::lists="$state/lists" -o Dir::Cache="$state/cache" -o APT::Sandbox::User= "$@"
}

found=
entry_of_cmocka || die "apt-get does not know libcmocka-dev; run apt-get update first"

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$scratch/sources" "$scratch/lists/partial" "$scratch/cache/archives/partial" "$scratch/package"
# Both forms of an entry: "Types: deb" and "deb [options] ...".
sed -e 's/^Types:.*/Types: deb-src/' -e 's/^deb\([[:space:]]\)/deb-src\1/' "$found" \
    >"$scratch/sources/cmocka.${found##*.}"
apt "$scratch" update -qq
cd "$scratch/package"
apt "$scratch" source -qq --download-only cmocka
rm -f ./*.asc # signatures; apt-get has checked the sums of what it fetched
cmake -E tar xf cmocka_*.orig.tar.*
cp -R cmocka-*/. "$directory"
[ -e "$directory/src/cmocka.c" ] || die "the source package of cmocka has no src/cmocka.c"
