#!/bin/sh
# with_database.sh sqlite|postgres COMMAND...: runs each command of the shell with one more argument, the address of a
# database of their own: a file, or a PostgreSQL server, which is started once. 77 if there is no PostgreSQL here.
set -u
kind=$1
shift
servers=$(cd "$(dirname "$0")/../support" && pwd)/postgres.sh
folder=$(mktemp -d "${TMPDIR:-/tmp}/twdb.XXXXXX") || exit 1
end() {
    [ ! -d "$folder/s" ] || "$servers" stop "$folder/s" 2>/dev/null
    rm -rf "$folder"
}
trap end EXIT
trap 'exit 1' INT TERM
chmod 755 "$folder"

if [ "$kind" = postgres ]; then
    "$servers" init "$folder/s"
    status=$?
    [ $status -ne 3 ] || exit 77
    [ $status -eq 0 ] && "$servers" start "$folder/s" fsync=off || exit 1
    address=$("$servers" address "$folder/s")
else
    address=sqlite:$folder/jobs.db
fi
for command; do
    sh -c "$command \"\$1\"" sh "$address" || exit 1
done
