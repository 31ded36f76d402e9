#!/bin/sh
# exits_with.sh STATUS COMMAND...: succeeds if the command ends with exactly this status.
wanted=$1
shift
"$@"
status=$?
[ "$status" -eq "$wanted" ] && exit 0
echo "ended with $status instead of $wanted: $*"
exit 1
