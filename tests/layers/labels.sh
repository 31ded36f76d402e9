#!/bin/sh
# labels.sh CTEST BUILD TESTS: succeeds if each test of ctest has a subject as a label: the name of a folder of tests/, or
# one of those below. `ctest -L` misses a test without one.
set -u
ctest=$1 build=$2 tests=$3
subjects="examples|python|boards|kernels|calendar|durable"
for folder in "$tests"/*/; do
    subjects="$subjects|$(basename "$folder")"
done
without=$("$ctest" --test-dir "$build" -N -LE "^($subjects)\$")
echo "$without" | grep -q '^Total Tests: 0$' && exit
echo "$without"
echo "these have no label of a subject ($subjects)"
exit 1
