#!/bin/sh
# Durable jobs compared with graphile-worker, pg-boss, and a loop that polls a table every second. All run on one
# PostgreSQL server, which this script starts, in turn (A B C A B C ...), each in an empty database.
#   usage: run.sh [--rounds R] [--json FILE] [--seconds S] [--jobs N] [--impl NAME[,NAME]] [--tuned-only] [--reader S]
#                 [--finished N]
#     --rounds      3
#     --seconds     lateness: for how long to put 1,000 jobs a second, due 10 s later (20)
#     --jobs        throughput: how many jobs to put and run (20000)
#     --impl        of tickwheel graphile pgboss polling
#     --reader      also measures lateness for so many seconds while another session reads an old state (0: does not)
#     --finished    also puts and runs N jobs, in two halves, and measures the tables after autovacuum (0: does not)
#     --tuned-only  without the default settings of the frameworks, which otherwise run in the first round alone
# Tickwheel's program is the one that TICKWHEEL_DURABLE_BENCH names, or that of ./dev bench. The peers need npm; this
# script installs them in build/bench-peers.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
peers=$root/build/bench-peers
postgres=$root/tests/support/postgres.sh
ours=${TICKWHEEL_DURABLE_BENCH:-$root/build/bench/bench/durable/tickwheel_durable_bench}
rounds=3 json='' seconds=20 reader=0 finished=0 jobs=20000 impls=tickwheel,graphile,pgboss,polling defaults=yes

say() { echo "run.sh: $*" >&2; }
die() {
    say "$*"
    exit 1
}
usage() {
    sed -n 's/^#   usage: /usage: /p; s/^#     /  /p' "$0" >&2
    exit 2
}

while [ $# -gt 0 ]; do
    case $1 in
    --tuned-only)
        defaults=''
        shift
        continue
        ;;
    --rounds | --seconds | --reader | --finished | --jobs | --json | --impl) [ $# -ge 2 ] || usage ;;
    *) usage ;;
    esac
    case $1 in
    --rounds) rounds=$2 ;;
    --seconds) seconds=$2 ;;
    --reader) reader=$2 ;;
    --finished) finished=$2 ;;
    --jobs) jobs=$2 ;;
    --json) json=$2 ;;
    --impl) impls=$2 ;;
    esac
    shift 2
done

# is_new NODE: succeeds if this node is new enough for the frameworks.
is_new() {
    "$1" -e 'const [a, b] = process.versions.node.split("."); process.exit(a > 22 || (a == 22 && b >= 18) ? 0 : 1)'
}

# Installs the peers, and sets `node`. The node of a distribution may be too old, so npm then installs another.
install_peers() {
    command -v npm >/dev/null || die "npm is not installed"
    without=''
    ! is_new node || without=--omit=optional
    mkdir -p "$peers"
    if [ ! -d "$peers/node_modules" ] || ! cmp -s "$here/peers/package-lock.json" "$peers/package-lock.json"; then
        say "installing the peers in build/bench-peers"
        cp "$here/peers/package.json" "$here/peers/package-lock.json" "$peers"
        # shellcheck disable=SC2086 # no option, or one
        npm ci --prefix "$peers" --ignore-scripts --no-audit --no-fund --loglevel=error $without >&2 || {
            rm -rf "$peers/node_modules"
            die "the peers could not be installed; see above"
        }
    fi
    cp "$here"/peers/*.mjs "$peers"
    for node in node "$peers"/node_modules/node-linux-*/bin/node; do
        if is_new "$node" 2>/dev/null; then
            return
        fi
    done
    die "the frameworks need node 22.18 or newer"
}

# Makes an empty database for a run. The checkpoint writes what the last run has left in memory.
fresh_database() {
    psql -q "$server" -c 'set client_min_messages = warning' -c 'drop database if exists bench with (force)' \
        -c 'create database bench' -c checkpoint
}

# measure COMMAND...: runs the command on an empty database, and keeps the line that the command prints.
measure() {
    fresh_database
    line=$("$@") || die "this failed, see above: $*"
    echo "$line" >>"$lines"
    say "$line"
}

# measure_with_reader COMMAND...: like measure. A reader keeps the state of the database from before the run, so that
# vacuum removes nothing. The line also tells of dead rows, and of the size of all tables and indexes.
measure_with_reader() {
    fresh_database
    psql -q "$address" -c 'begin isolation level repeatable read' -c 'select 1' -c 'select pg_sleep(86400)' >/dev/null 2>&1 &
    line=$("$@") || die "this failed, see above: $*"
    sleep 1 # until the server has counted the last rows
    left=$(psql -qtA "$address" -c "select format(',\"dead_rows\":%s,\"megabytes\":%s}', sum(n_dead_tup),
        round(sum(pg_total_relation_size(relid)) / 1e6, 1)) from pg_stat_user_tables")
    psql -q "$server" -c "select pg_terminate_backend(pid) from pg_stat_activity where query like '%pg_sleep(86400)%'
        and pid <> pg_backend_pid()" >/dev/null
    wait $! || true
    echo "${line%\}}$left" >>"$lines"
    say "${line%\}}$left"
}

# measure_tables COMMAND...: like measure. Waits until autovacuum has removed the rows of the jobs, for three minutes at
# most. The line also tells how many bytes of all tables and indexes are then left for each job.
measure_tables() {
    fresh_database
    line=$("$@") || die "this failed, see above: $*"
    waited=0
    while [ "$waited" -lt 180 ]; do
        sleep 5
        waited=$((waited + 5))
        dead=$(psql -qtA "$address" -c 'select coalesce(sum(n_dead_tup), 0) from pg_stat_user_tables')
        [ "$dead" -ge "$((finished / 50))" ] || break
    done
    left=$(psql -qtA "$address" -c "select format(',\"bytes_per_job\":%s}',
        round(sum(pg_total_relation_size(relid)) / $finished)) from pg_stat_user_tables")
    line=$(echo "$line" | sed 's/"workload":"throughput"/"workload":"finished"/')
    echo "${line%\}}$left" >>"$lines"
    say "${line%\}}$left"
}

# run_peer NAME WORKLOAD [OPTION...]
run_peer() {
    peer=$1 workload=$2
    shift 2
    case $workload in
    lateness) measure "$node" "$peers/$peer.mjs" "$address" lateness --seconds "$seconds" "$@" ;;
    reader) measure_with_reader "$node" "$peers/$peer.mjs" "$address" reader --seconds "$reader" "$@" ;;
    throughput) measure "$node" "$peers/$peer.mjs" "$address" throughput --jobs "$jobs" "$@" ;;
    finished) measure_tables "$node" "$peers/$peer.mjs" "$address" throughput --jobs "$((finished / 2))" "$@" ;;
    esac
}

# run_ours WORKLOAD: runs Tickwheel's program, which takes the same arguments as the peers, and prints the same line.
run_ours() {
    if [ ! -x "$ours" ]; then
        return
    fi
    case $1 in
    lateness) measure "$ours" "$address" lateness --seconds "$seconds" ;;
    reader) measure_with_reader "$ours" "$address" reader --seconds "$reader" ;;
    throughput) measure "$ours" "$address" throughput --jobs "$jobs" ;;
    finished) measure_tables "$ours" "$address" throughput --jobs "$((finished / 2))" ;;
    esac
}

# run_each WORKLOAD ROUND
run_each() {
    for impl in $(echo "$impls" | tr , ' '); do
        case $impl in
        tickwheel) run_ours "$1" ;;
        graphile | pgboss | polling) run_peer "$impl" "$1" ;;
        *) die "no implementation $impl" ;;
        esac
        if [ -z "$defaults" ] || [ "$2" -ne 1 ]; then
            continue
        fi
        case $impl in
        graphile)
            run_peer graphile "$1" --settings default
            run_peer graphile "$1" --settings manual
            ;;
        pgboss) run_peer pgboss "$1" --settings default ;;
        esac
    done
}

clean_up() {
    [ ! -e "$folder/pg/data/postmaster.pid" ] || "$postgres" stop "$folder/pg" || true
    rm -rf "$folder"
}

command -v psql >/dev/null || die "psql, PostgreSQL's client, is not installed"
install_peers
[ -x "$ours" ] || say "left out: tickwheel; there is no $ours"
folder=$(mktemp -d)
trap clean_up EXIT
trap 'exit 1' HUP INT TERM
chmod 711 "$folder" # so that the server's user can reach the files in it
lines=$folder/lines
: >"$lines"
"$postgres" init "$folder/pg"
"$postgres" start "$folder/pg"
server=$("$postgres" address "$folder/pg")
address=$(echo "$server" | sed 's|///postgres|///bench|')

round=1
while [ "$round" -le "$rounds" ]; do
    for workload in lateness throughput $([ "$reader" -eq 0 ] || echo reader) $([ "$finished" -eq 0 ] || echo finished); do
        run_each $workload "$round"
    done
    round=$((round + 1))
done
"$node" "$peers/summary.mjs" "$lines" ${json:+"$json"}
