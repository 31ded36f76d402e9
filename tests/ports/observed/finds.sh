#!/bin/sh
# finds.sh NAME COMMAND...: succeeds if the command fails and its output names that function.
name=$1
shift
if said=$("$@" 2>&1); then
    echo "nothing was found"
    exit 1
fi
echo "$said"
echo "$said" | grep -qw "$name"
