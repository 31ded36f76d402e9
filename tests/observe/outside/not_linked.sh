#!/bin/sh
# not_linked.sh NM PROGRAM: a program that starts neither a recording nor the server for tickwheel-top does
# not link the code for that.
nm=$1 program=$2
"$nm" -C "$program" | grep -q tw_runtime_metrics || { echo "$program has no symbols" && exit 1; }
if "$nm" -C "$program" | grep -E ' [tTdD] .*(tw_(trace|inspect)_|tickwheel::runtime::(trace_of|open_listener|answer_request))'; then
    echo "these are in $program, which does not use them"
    exit 1
fi
