#!/bin/sh
# exits_with.sh STATUS COMMAND...: the command ends with this status and no other.
wanted=$1
shift
"$@"
status=$?
[ "$status" -eq "$wanted" ] && exit 0
echo "ended with $status instead of $wanted: $*"
exit 1
