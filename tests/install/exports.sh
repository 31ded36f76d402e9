#!/bin/sh
# exports.sh LIBRARY INCLUDE CC SCRATCH: succeeds if the shared library exports each function of
# the public headers and nothing else, has a versioned name, and does not need the C++ library.
set -eu
library=$1 include=$2 cc=$3 scratch=$4

for header in "$include"/tickwheel/*.h; do
    echo "#include \"$header\""
done >"$scratch/all.c"

# A function that is linked by another name is exported under both.
linked_as() {
    grep -oE 'tw_[a-z0-9_]+ *\([^()]*\) *__asm__ *\([^()]*\)' | sed -E 's/.*__asm__ *\(//; s/[" )]//g'
}

# Keeps declarations of functions: not typedefs, struct members or bodies of inline functions.
"$cc" -E -P -I"$include" "$scratch/all.c" | tr '\n' ' ' | sed 's/[{};]/\n/g' |
    grep -vE 'typedef|static inline|return|=' | grep -oE '^[^(]*\btw_[a-z0-9_]+ *\(' | grep -oE 'tw_[a-z0-9_]+ *\($' | tr -d '( ' |
    sort -u >"$scratch/plain"
"$cc" -E -P -I"$include" "$scratch/all.c" | tr '\n' ' ' | linked_as >"$scratch/labels"
test -s "$scratch/labels"
sort -u "$scratch/plain" "$scratch/labels" >"$scratch/declared"
nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' | sed 's/@.*//' | sort -u >"$scratch/exported"

test -s "$scratch/declared"
if ! diff -u "$scratch/declared" "$scratch/exported"; then
    echo "declared (-) and exported (+) functions differ"
    exit 1
fi
readelf -d "$library" | grep -q 'SONAME.*libtickwheel\.so\.[0-9]'
if readelf -d "$library" | grep -E 'NEEDED.*(stdc\+\+|c\+\+)'; then
    echo "the library needs a C++ runtime"
    exit 1
fi
