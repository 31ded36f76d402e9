#!/bin/sh
# must_check.sh FILE COMPILER FLAGS...: the compiler warns of an ignored result at exactly the lines of the
# file that say "warns".
set -u
file=$1
shift
expected=$(grep -nE '(/\*|//) warns' "$file" | cut -d: -f1)
found=$("$@" -Wall -Wextra -S -o /dev/null "$file" 2>&1 |
    sed -nE 's/^[^ ]*ignored\.[a-z]+:([0-9]+):[0-9]+: warning: .*\[-Wunused-(result|value)\]$/\1/p' | sort -nu)
[ -n "$expected" ] && [ "$found" = "$expected" ] && exit
echo "$file: lines that should warn:" $expected
echo "lines that do:" $found
exit 1
