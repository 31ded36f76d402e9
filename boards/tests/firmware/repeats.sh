#!/bin/sh
# repeats.sh COMMAND...: succeeds if the command succeeds twice with the same output.
set -eu
first=$("$@" 2>&1)
second=$("$@" 2>&1)
echo "$first"
[ "$first" = "$second" ] && exit 0
echo "and the second time: $second"
exit 1
