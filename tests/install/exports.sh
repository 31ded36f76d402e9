#!/bin/sh
# exports.sh LIBRARY INCLUDE CC SCRATCH MAP [durable|calendar]: succeeds if the shared library exports each function of
# the public headers and nothing else, each with a version, MAP names these functions alone, and the library
# has a versioned name and does not need the C++ library. With `durable` or `calendar`, LIBRARY is that
# library, which does need the C++ library, and its public headers are those whose names begin with this word;
# otherwise they are all others.
set -eu
library=$1 include=$2 cc=$3 scratch=$4 map=$5 part=${6:-}

for header in "$include"/tickwheel/*.h; do
    echo "#include \"$header\""
done | if [ -n "$part" ]; then grep "/${part}[a-z_]*\.h"; else grep -vE '/(durable|calendar)[a-z_]*\.h'; fi >"$scratch/all.c"

# The preprocessed headers on one line, without attributes such as TW_MUST_CHECK's; for a part, only what its
# own headers declare.
preprocessed() {
    "$cc" -E '-D__attribute__(of)=' -I"$include" "$scratch/all.c" |
        awk -v part="$part" '/^# / {ours = part == "" || $3 ~ "/" part "[a-z_]*\\.h\"$"; next} ours' | tr '\n' ' '
}

# The library exports a function with an asm name under both names.
linked_as() {
    grep -oE 'tw_[a-z0-9_]+ *\([^()]*\) *__asm__ *\([^()]*\)' | sed -E 's/.*__asm__ *\(//; s/[" )]//g'
}

# Keeps declarations of functions: not typedefs, struct members or bodies of inline functions.
preprocessed | sed 's/[{};]/\n/g' |
    grep -vE 'typedef|static inline|return|=' | grep -oE '^[^(]*\btw_[a-z0-9_]+ *\(' | grep -oE 'tw_[a-z0-9_]+ *\($' | tr -d '( ' |
    sort -u >"$scratch/plain"
preprocessed | linked_as >"$scratch/labels"
[ -n "$part" ] || test -s "$scratch/labels"
sort -u "$scratch/plain" "$scratch/labels" >"$scratch/declared"
nm -D --defined-only "$library" | awk '$2 != "A" {print $3}' | sort -u >"$scratch/versioned"
sed 's/@.*//' "$scratch/versioned" >"$scratch/exported"

test -s "$scratch/declared"
if ! diff -u "$scratch/declared" "$scratch/exported"; then
    echo "declared (-) and exported (+) functions differ: are they in $map?"
    exit 1
fi
if grep -vE '@@TICKWHEEL_((DURABLE|CALENDAR)_)?[0-9]' "$scratch/versioned"; then
    echo "exported without a version"
    exit 1
fi

# MAP must name no function that is not declared: the linker would accept such a name. A pattern, NAME*, must
# match at least one function.
sed -n 's/^ *\(tw_[a-z0-9_]*\**\);.*/\1/p' "$map" >"$scratch/mapped"
test -s "$scratch/mapped"
while read -r name; do
    case $name in
    *\*) grep -q "^${name%\*}" "$scratch/declared" ;;
    *) grep -qx "$name" "$scratch/declared" ;;
    esac && continue
    echo "$map names $name, which no public header has"
    exit 1
done <"$scratch/mapped"
readelf -d "$library" | grep -qE 'SONAME.*libtickwheel(_durable|_calendar)?\.so\.[0-9]'
if [ -z "$part" ] && readelf -d "$library" | grep -E 'NEEDED.*(stdc\+\+|c\+\+)'; then
    echo "the library needs a C++ runtime"
    exit 1
fi
