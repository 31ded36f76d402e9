#!/usr/bin/env bash
# cooldown.sh PROGRAM: at a terminal the program takes keys, and restores the terminal when it ends, by x or
# by ctrl-C. This script measures no times; it only limits the waits.
set -euo pipefail
program=$1
folder=$(mktemp -d)
trap 'exec 3>&- || true; rm -rf "$folder"' EXIT

fail() {
    echo "$*; the terminal showed:" >&2
    cat "$folder/screen" >&2
    exit 1
}

# Waits until the screen shows TEXT.
wait_for() {
    for ((tries = 0; tries < 600; ++tries)); do
        if grep -qF -- "$1" "$folder/screen"; then return; fi
        sleep 0.1
    done
    fail "the terminal did not show \"$1\""
}

# script(1) lends a terminal; `screen` is what appears on it.
play_until() {
    rm -f "$folder/keys"
    mkfifo "$folder/keys"
    : >"$folder/screen"
    script -qefc "trap : INT; stty -g; '$program'; echo ended with \$?; stty -g" /dev/null \
        <"$folder/keys" >"$folder/screen" 2>&1 &
    exec 3>"$folder/keys"
    wait_for "x ends"
    printf q >&3
    wait_for "Frost Arrow   is cast"
    printf 'r\tq' >&3
    wait_for "Thunderstorm  is cast"
    wait_for "Frost Arrow   not yet"
    printf '%b' "$1" >&3
    wait_for "ended with"
    exec 3>&-
    wait $! || fail "script failed"
    grep -qF "ended with 0" "$folder/screen" || fail "not ended with 0"
    [ "$(grep -cE '^[0-9a-f]+(:[0-9a-f]+){10,}' "$folder/screen")" = 2 ] || fail "no settings"
    [ "$(grep -E '^[0-9a-f]+(:[0-9a-f]+){10,}' "$folder/screen" | sort -u | wc -l)" = 1 ] ||
        fail "the terminal was left in another state"
}

play_until x
play_until '\003' # ctrl-C
play_until '\004' # ctrl-D
