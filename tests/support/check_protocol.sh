#!/bin/sh
# check_protocol.sh SPIN CC MODEL SCRATCH: succeeds if every claim of a model holds in every reachable state.
# With TW_NIGHTLY=1 it also tries each BREAK_ switch, which breaks the protocol: a claim has to fail. Run that
# after a change to a model; the switches judge the model, not the library.
# After a failure SCRATCH has the files that `spin -t -p -g model.pml` needs to show the trail.
set -u
spin=$1 cc=$2 model=$3 scratch=$4
status=0

# search [SWITCH]: writes pan's output to $scratch/said
search() {
    rm -rf "$scratch" && mkdir -p "$scratch" && cd "$scratch" || exit 1
    { echo "${1:+#define $1}" && cat "$model"; } >model.pml
    "$spin" -P"$cc -E -x c" -a model.pml >said &&
        "$cc" -w -DSAFETY -o pan pan.c >>said 2>&1 &&
        ./pan -m1000 -w24 >said 2>&1
    if ! grep -q '^State-vector' said; then
        cat said
        echo "${1:-the model} could not be searched"
        exit 1
    fi
}

# An incomplete search proves nothing.
is_complete() {
    grep -q '^Full statespace search' said &&
        ! grep -qE 'not completed|max search depth|out of memory|VECTORSZ' said
}

violation() { sed -nE 's/^pan:1: (assertion violated|invalid end state).*/\1/p' said; }

search
if grep -q 'errors: 0$' said && is_complete; then
    echo "holds: $(grep 'states, stored' said | tr -s ' ')"
else
    cat said
    exit 1
fi

switches=$(grep -o 'BREAK_[A-Z_]*' "$model" | sort -u)
[ -n "$switches" ] || { echo "no way to break it"; exit 1; }
[ -n "${TW_NIGHTLY:-}" ] || { echo "not broken, for TW_NIGHTLY=1: $(echo "$switches" | wc -l) ways" && exit; }
for switch in $switches; do
    search "$switch"
    if [ -n "$(violation)" ]; then
        echo "$switch: $(violation)"
    else
        cat said
        echo "$switch breaks nothing"
        status=1
    fi
done
exit $status
