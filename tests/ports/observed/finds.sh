#!/bin/sh
# finds.sh NAME COMMAND...: the command fails, and what it says names a function.
name=$1
shift
if said=$("$@" 2>&1); then
    echo "nothing was found"
    exit 1
fi
echo "$said"
echo "$said" | grep -qw "$name"
