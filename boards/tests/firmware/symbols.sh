#!/bin/sh
# symbols.sh NM IMAGE...: succeeds if no image contains symbols that small parts lack or that need a C or C++
# library: atomics that are calls, a heap, guards of static variables, unwinding.
nm=$1
shift
[ $# -gt 0 ] || exit 2
status=0
for image; do
    found=$("$nm" "$image" | grep -E '__(atomic|sync)_|__cxa_|_Unwind_|__gxx_|(^| )((malloc|free)$|_Zn[wa]|_Zd[la])')
    [ -z "$found" ] && continue
    echo "$image has:"
    echo "$found"
    status=1
done
exit $status
