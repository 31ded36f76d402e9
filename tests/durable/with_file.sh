#!/bin/sh
# with_file.sh COMMAND...: runs the command with one more argument, the address of an SQLite file in a folder of its own,
# which is there meanwhile.
set -u
folder=$(mktemp -d "${TMPDIR:-/tmp}/twsq.XXXXXX") || exit 1
trap 'rm -rf "$folder"' EXIT
trap 'exit 1' INT TERM
"$@" "sqlite:$folder/jobs.db"
