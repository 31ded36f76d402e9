#!/bin/sh
# repeats.sh COMMAND...: the command ends well, and prints the same when it is run again.
set -eu
first=$("$@" 2>&1)
second=$("$@" 2>&1)
echo "$first"
[ "$first" = "$second" ] && exit 0
echo "and the second time: $second"
exit 1
