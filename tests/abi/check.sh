#!/usr/bin/env bash
# check.sh BUILD [--accept]: compares the binary interface of BUILD's shared library, which has debug
# information, with its description beside this file, and fails if a program that was linked with the
# library described may not work with this one. --accept renews the description. Run it by ./dev abi.
#
# Additions pass, and are listed: no program depends on them before a release. A release takes them in,
# by --accept, and from then on they are held as well. Anything else that has to be accepted is a
# reason to raise the SONAME; see src/tickwheel.map.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.."

build=$1
accept=${2:-}
described=tests/abi/$(uname -m).abi
found=$build/tickwheel.abi

# Types are public if a C header defines them. Those of C++ are left out: they are compiled into
# programs, and some have the names of files of src/.
rm -rf "$build/headers"
mkdir -p "$build/headers"
cp include/tickwheel/*.h "$build/tickwheel-config/tickwheel/config.h" "$build/headers"
abidw --headers-dir "$build/headers" --drop-private-types --drop-undefined-syms --exported-interfaces-only \
    --no-corpus-path --no-comp-dir-path --no-show-locs --no-elf-needed --no-write-default-sizes \
    --no-parameter-names --type-id-style hash --out-file "$found" "$build/libtickwheel.so"
sed -i "s|='$PWD/|='|g" "$found" # paths of sources, which do not matter, without this machine's part
grep -q "name='tw_node' size-in-bits" "$found" || {
    echo "abi: the library has no debug information" >&2
    exit 1
}

if [ "$accept" = --accept ]; then
    cp "$found" "$described"
    echo "abi: $described describes this library now"
elif [ ! -e "$described" ]; then
    echo "abi: nothing was compared: there is no $described; ./dev abi --accept writes it"
elif ! abidiff --no-added-syms "$described" "$found"; then
    echo "abi: programs that were linked with the library of $described may not work with this one." >&2
    echo "If that is meant: ./dev abi --accept, and see src/tickwheel.map about the SONAME." >&2
    exit 1
elif ! abidiff --harmless "$described" "$found"; then
    echo "abi: only additions, so programs go on working; a release takes them in by ./dev abi --accept"
else
    echo "abi: the interface is that of $described"
fi
