#!/bin/sh
# postgres.sh init FOLDER [OPTION...] | copy FOLDER ADDRESS | start FOLDER [SETTING=VALUE...] | stop|kill|address FOLDER:
# a private PostgreSQL server.
#
#   init     makes the server's files in FOLDER, which must not exist, with these options of initdb. Choose a short path:
#            it holds the socket
#   copy     makes the files of a standby, which follows the server at ADDRESS
#   start    starts the server, with these settings in addition to those below, and waits until it answers
#   stop     stops the server as for a restart: the server ends all connections first
#   kill     kills all processes of the server at once, as a power cut would
#   address  prints the address that programs connect to
#
# TW_POSTGRES names the folder of the server's programs; without it, the newest installed server runs.
# The server listens on its socket alone. Root cannot run a server; for root it runs as the user `postgres`,
# whom Debian's package creates.
set -eu
[ $# -ge 2 ] || {
    sed -n 's/^# \{0,1\}//; 2,3p' "$0" >&2
    exit 2
}
verb=$1 folder=$2
shift 2

bin=${TW_POSTGRES:-}
if [ -z "$bin" ]; then
    for each in $(command -v postgres || true) /usr/lib/postgresql/*/bin/postgres /usr/pgsql-*/bin/postgres; do
        [ ! -x "$each" ] || bin=${each%/postgres}
    done
fi
[ -n "$bin" ] || {
    echo "postgres.sh: there is no PostgreSQL server here" >&2
    exit 3
}

# as_server COMMAND...
as_server() {
    if [ "$(id -u)" -eq 0 ]; then
        (cd / && exec setpriv --reuid postgres --regid postgres --clear-groups -- "$@")
    else
        "$@"
    fi
}

say_log() {
    cat "$folder/$1" >&2
    exit 1
}

case $verb in
init)
    mkdir "$folder"
    [ "$(id -u)" -ne 0 ] || chown postgres:postgres "$folder"
    as_server "$bin/initdb" -D "$folder/data" -U postgres -A trust -E UTF8 --locale=C --no-sync "$@" \
        >"$folder/init.log" 2>&1 || say_log init.log
    ;;
copy)
    mkdir "$folder"
    [ "$(id -u)" -ne 0 ] || chown postgres:postgres "$folder"
    as_server "$bin/pg_basebackup" -D "$folder/data" -d "$1" --write-recovery-conf --checkpoint=fast --no-sync >&2
    ;;
start)
    settings=
    for setting; do
        settings="$settings -c $setting"
    done
    as_server "$bin/pg_ctl" start -w -s -t 60 -D "$folder/data" -l "$folder/log" \
        -o "-c listen_addresses= -c unix_socket_directories=$folder -c max_connections=100$settings" >&2 || say_log log
    ;;
stop) as_server "$bin/pg_ctl" stop -s -w -m fast -D "$folder/data" >&2 ;;
kill)
    # Kills all processes of the server at once; the next start recovers.
    server=$(head -n 1 "$folder/data/postmaster.pid")
    kill -STOP "$server"
    # shellcheck disable=SC2046 # a list of numbers
    kill -KILL $(ps -o pid= --ppid "$server") "$server"
    rm -f "$folder/data/postmaster.pid" "$folder"/.s.PGSQL.*
    ;;
address) echo "postgresql:///postgres?host=$folder&user=postgres" ;;
*)
    echo "postgres.sh: no verb $verb" >&2
    exit 2
    ;;
esac
