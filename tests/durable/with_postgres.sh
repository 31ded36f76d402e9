#!/bin/sh
# with_postgres.sh COMMAND...: runs the command with one more argument, the address of a PostgreSQL server of its own,
# which is there meanwhile. 77 if there is no PostgreSQL here.
set -u
servers=$(cd "$(dirname "$0")/../support" && pwd)/postgres.sh
folder=$(mktemp -d "${TMPDIR:-/tmp}/twpg.XXXXXX") || exit 1
end() {
    "$servers" stop "$folder/s" 2>/dev/null
    rm -rf "$folder"
}
trap end EXIT
trap 'exit 1' INT TERM
chmod 755 "$folder"

"$servers" init "$folder/s"
status=$?
[ $status -ne 3 ] || exit 77
[ $status -eq 0 ] && "$servers" start "$folder/s" || exit 1
"$@" "$("$servers" address "$folder/s")"
