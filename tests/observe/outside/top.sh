#!/bin/sh
# top.sh TOP LOOKED_AT: tickwheel-top finds a program, shows what the program's timers do, and removes the
# socket of a dead program.
set -eu
top=$1 looked_at=$2
folder=$(mktemp -d)
export XDG_RUNTIME_DIR="$folder"
mkfifo "$folder/input"
trap 'exec 3>&-; wait; rm -rf "$folder"' EXIT

fail() {
    echo "$*"
    exit 1
}

# shown WORD...: fails unless a line of the output has the words in this order
shown() {
    pattern=$(echo "$*" | sed 's/ /.*/g')
    grep -qE "$pattern" "$folder/shown" || { cat "$folder/shown"; fail "not shown: $*"; }
}

"$top" --once 2>"$folder/said" && fail "it found a program where there is none"
grep -q tw_inspect_start "$folder/said" || fail "it did not say how to be found"

"$looked_at" <"$folder/input" >"$folder/process" &
exec 3>"$folder/input"
tries=0
while [ ! -s "$folder/process" ]; do
    tries=$((tries + 1))
    [ $tries -lt 600 ] || fail "the program did not begin"
    sleep 0.1
done
process=$(cat "$folder/process")
"$top" --once --seconds 0.5 --timers 8 >"$folder/shown"
shown "\($process\)" 'looked at' sleep monotonic 'ticks of 1 ms'
shown 'fires/s' 'wake-ups/s' '3 pending'
shown 'often' ' [0-9]+ +[1-9][0-9.]+ ' # the timers fire
shown 'late, woken late' '[0-9]+ [mun]?s'
shown 'far' '[0-9.]+ h' once node
shown session '[0-9.]+ h' once handle
if grep -q "$(printf '\033')" "$folder/shown"; then
    fail "a label reached the terminal as it is"
fi
"$top" --once --seconds 0.1 --timers 0 "$process" >"$folder/shown"
shown "\($process\)"
"$top" --once --seconds 0.1 "$(echo "$folder"/tickwheel/"$process".*)" >"$folder/shown"
shown "\($process\)"
"$top" --once --seconds 0.1 1 >"$folder/shown" 2>&1 && fail "process 1 was shown"
for wrong in '--seconds 0' '--seconds x' '--timers 65' --what '1 2' --seconds; do
    # shellcheck disable=SC2086  # these are lists of arguments
    if "$top" $wrong >"$folder/shown" 2>&1 || [ $? -ne 2 ]; then fail "it took $wrong"; fi
done

# A program that is killed leaves its socket.
kill -KILL "$process"
while kill -0 "$process" 2>/dev/null; do wait "$process" || true; done
[ -S "$(echo "$folder"/tickwheel/"$process".*)" ] || fail "nothing was left over; so this test shows nothing"
"$top" --once >"$folder/shown" 2>&1 && fail "a dead program was shown"
[ -z "$(ls "$folder/tickwheel")" ] || fail "what a dead program has left is still there"

# tickwheel-top does not trust a folder that other users can enter.
chmod 755 "$folder/tickwheel"
"$top" --once 2>"$folder/said" && fail "it trusted a folder that is open to others"
grep -q 'not private' "$folder/said" || fail "it did not say why"
