"""server.py ASK [--jobs N] [GROUP|TEST...]: tests for PostgreSQL alone, with processes that run ASK (ask.cpp). Runs the
given tests and groups of tests (calls, locks, outages), or all but the one with many jobs.

That one has 30,000 jobs that are due next month, or with TW_NIGHTLY=1 a million: enough for PostgreSQL to prefer a scan
of all jobs if the settings allowed one. The test looks for such scans in the plans.
"""
import errno
import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from statistics import median

import running
from askers import CONNECTED, DISCONNECTED, LEASE_LOST, PROMPT_S, REFUSED, run
from proxy import HOLE, PASS, Proxy
from running import expect, wait_until

SECRET = "geheim-4711"
MS = 10**6


# --- notifications ------------------------------------------------------------------------------

def jobs_of_others_start_at_once(bench):
    sleeper, putter = bench.handler(), bench.opened()
    delays = []
    for i in range(20):
        put = putter.do("put", "k", f"now{i}", 3 if i % 2 else 0)
        delays.append(sleeper.fire(f"now{i}", PROMPT_S)["real"] - put["real"])
    print(f"  {median(delays) / MS:.1f} ms, at most {max(delays) / MS:.1f}")
    expect(min(delays) < 50 * MS, "no job of another process started within 50 ms")
    fired = sleeper.fires[0]
    expect(fired["real"] >= fired["due"], "it was early")


def jobs_that_nobody_tells_of_are_found_by_the_poll(bench):
    sleeper = bench.handler("poll_ms=200")
    bench.sql("insert into tickwheel.job (kind, key, payload, due, ready, missed, grace) "
              "values ('k', 'untold', '', now(), now(), 0, 0)")
    sleeper.fire("untold")


def a_job_that_was_removed_leaves_the_clock_alone(bench):
    """The process holds the job already, and its question whether the job may start finds no row."""
    holder, other = bench.handler("lease_ms=15000"), bench.opened()
    other.do("put", "k", "gone", 700)
    wait_until(lambda: "held 1 " in holder.ask("counts")["text"], "it is held", 10)
    other.do("remove", "k", "gone", result=1)
    wait_until(lambda: "taken_back 1 " in holder.ask("counts")["text"], "it is taken back")
    now = holder.ask("now")
    expect(abs(now["real"] - now["result"]) < 10**10, f"the clock is {(now['real'] - now['result']) / 1e9} s off")
    other.do("put", "k", "next", 300)
    holder.fire("next", PROMPT_S - 1)
    expect(not [each for each in holder.fires if each["fire"] == "gone"], "it fired")


def the_clock_is_told_without_a_handler(bench):
    asker = bench.opened()
    now = asker.ask("now")
    expect(0 <= now["real"] - now["result"] < 60 * 10**9, f"it is {now['result']}, {now['why']}")


def jobs_of_a_killed_process_fire_elsewhere_when_its_lease_has_ended(bench):
    """No notification tells of the death, and no poll finds the job in time. The heir has a job of its own, so it is
    not idle."""
    settings = bench.schema(), "lease_ms=1000", "poll_ms=30000", "horizon_ms=60000"
    heir, holder = bench.handler(*settings), bench.handler(*settings)
    heir.do("put", "k", "of the heir", 50000)
    holder.do("put", "k", "left-behind", 700)
    wait_until(lambda: "held 1 " in holder.ask("counts")["text"], "it is held", 10)
    holder.running.kill()
    fired = heir.fire("left-behind", PROMPT_S)
    print(f"  {(fired['real'] - fired['due']) / MS:.0f} ms late")


# --- transactions of others ---------------------------------------------------------------------

def a_put_joins_the_callers_transaction(bench):
    sleeper = bench.handler()
    bench.sql("create table orders (id int)")
    rolled_back = "begin; insert into orders values (1); select tickwheel.put('k', 'no', now()); rollback;"
    bench.sql(rolled_back)
    committed = bench.sql("""
        begin; insert into orders values (2);
        select tickwheel.put('k', 'yes', clock_timestamp(), 'x'); select pg_sleep(0.3);
        select (extract(epoch from clock_timestamp()) * 1000000)::bigint; commit;""").split()
    expect(committed[0] == "f", "there was no such job before")
    expect(sleeper.fire("yes", PROMPT_S)["real"] >= int(committed[-1]) * 1000, "it fired before the commit")
    expect(bench.sql("select id from orders") == "2", "the caller's own rows are not what was committed")
    expect(not [each for each in sleeper.fires if each["fire"] == "no"], "a job fired that was rolled back")


def a_remove_joins_the_callers_transaction(bench):
    bench.opened()
    bench.sql("select tickwheel.put('other', 'a', now() + '1 day')")
    expect(bench.sql("begin; select tickwheel.remove('other', 'a'); rollback;") == "t", "remove did not find it")
    expect(bench.sql("select count(*) from tickwheel.job where kind = 'other'") == "1", "it is gone after a rollback")
    expect(bench.sql("begin; select tickwheel.remove('other', 'a'); commit;") == "t", "remove did not find it")
    expect(bench.sql("select tickwheel.remove('other', 'a')") == "", "remove found it twice")


def a_remove_by_sql_tells_whether_it_prevented_a_fire(bench):
    handler = bench.handler(kind="slow")
    for key, due in ("running", "now()"), ("waiting", "now() + '1 day'"):
        bench.sql(f"select tickwheel.put('slow', '{key}', {due})")
    handler.fire("running")
    expect(bench.sql("select tickwheel.remove('slow', 'running')") == "f", "it has prevented a fire that took place")
    expect(bench.sql("select tickwheel.remove('slow', 'waiting')") == "t", "it has prevented a fire")


def a_put_by_sql_replaces_or_keeps(bench):
    bench.opened()
    put = "select tickwheel.put('other', 'b', '2100-01-0{0} UTC', replace => {1});"
    expect(bench.sql(put.format(1, "true") + put.format(2, "true") + put.format(3, "false")) == "f\nt\nt",
           "put does not tell what there was")
    expect(bench.sql("select extract(day from due at time zone 'UTC') from tickwheel.job where key = 'b'") == "2",
           "the wrong one of three puts stays")
    bench.sql("select tickwheel.remove('other', 'b')")


ERROR_OF = """
    create function pg_temp.error_of(statement text) returns text language plpgsql as $$ begin
        execute statement; return 'none'; exception when others then return sqlstate; end $$;
"""


def expect_data_exceptions(bench, calls, database="postgres"):
    """Each call of a function of the schema ends with an error of class 22."""
    said = bench.server.psql(ERROR_OF + "".join(f"select pg_temp.error_of($call$select tickwheel.{each}$call$);"
                                                for each in calls), database)
    expect(said is not None, "the script fails")
    for call, code in zip(calls, said.splitlines(), strict=True):
        expect(code.startswith("22"), f"{call}: error {code}")


def bad_arguments_of_sql_are_refused(bench):
    bench.opened()
    calls = []
    for bad in ("'', 'bad', now()", "null, 'bad', now()", "repeat('x', 513), 'bad', now()", "'bad', '', now()",
                "'bad', null, now()", "'bad', repeat('x', 513), now()", "'bad', 'x', null",
                "'bad', 'x', '1969-12-31 UTC'", "'bad', 'x', '2201-01-01 UTC'", "'bad', 'x', 'infinity'",
                "'bad', 'x', '-infinity'",
                "'bad', 'x', now(), null", "'bad', 'x', now(), convert_to(repeat('x', 65537), 'UTF8')"):
        calls.append(f"put({bad})")
    expect_data_exceptions(bench, calls)
    expect(bench.sql("select count(*) from tickwheel.job where 'bad' in (kind, key)") == "0", "a refused job is there")


# --- groups -------------------------------------------------------------------------------------

PUT_PARTS = "select tickwheel.put('part', '{0} 1', 'now', of_group => '{0}'), " \
    "tickwheel.put('part', '{0} 2', 'now', of_group => '{0}');"
PUT_WHOLE = "select tickwheel.put('k', '{0}', now(), waits_for => '{0}');"


def state_of(bench, key):
    return bench.sql(f"select waits_for is not null, ready = 'infinity' from tickwheel.job where key = '{key}'")


def jobs_that_wait_are_put_and_released_by_sql(bench):
    """In one transaction in any order. What a transaction does to a group counts when it has committed."""
    sleeper = bench.handler()
    bench.sql("begin;" + PUT_WHOLE.format("a") + PUT_PARTS.format("a") + "commit;")
    bench.sql("begin; select tickwheel.remove('part', 'a 1'), tickwheel.remove('part', 'a 2'); rollback;")
    bench.sql("select tickwheel.remove('part', 'a 1')")
    bench.sql("select tickwheel.put('part', 'a 2', 'now', replace => false)")
    time.sleep(0.3)
    expect(state_of(bench, "a") == "t|t", "it does not wait for the second part")
    bench.sql("select tickwheel.remove('part', 'a 2')")
    sleeper.fire("a", PROMPT_S)
    bench.sql(PUT_WHOLE.format("a"))  # the group is empty
    wait_until(lambda: len([each for each in sleeper.fires if each["fire"] == "a"]) == 2, "it fires again", PROMPT_S)
    bench.sql(PUT_PARTS.format("b") + PUT_WHOLE.format("b"))
    bench.sql("select tickwheel.put('part', 'b 1', 'now'), tickwheel.put('part', 'b 2', 'now', of_group => 'c')")
    sleeper.fire("b", PROMPT_S)
    for bad in "of_group => ''", "waits_for => repeat('x', 513)", "of_group => 'g', waits_for => 'g'":
        expect(bench.server.psql(f"select tickwheel.put('part', 'bad', now(), {bad})") is None, f"taken: {bad}")
    bench.sql("delete from tickwheel.job")


def a_release_that_is_lost_is_made_up_for_by_the_poll(bench):
    """The process that ended the last part died before the release, or another transaction had locked the waiting
    job."""
    sleeper = bench.handler("poll_ms=200", "lease_ms=1000")
    bench.sql(PUT_PARTS.format("crash") + PUT_WHOLE.format("crash"))
    bench.sql("delete from tickwheel.job where of_group = 'crash'")
    sleeper.fire("crash")
    bench.sql(PUT_PARTS.format("locked") + PUT_WHOLE.format("locked"))
    with locked(bench, "locked"):
        bench.handler(kind="part")
        wait_until(lambda: bench.sql("select count(*) from tickwheel.job where of_group = 'locked'") == "0",
                   "the parts end")
        expect(state_of(bench, "locked") == "t|t", "it was released")
    sleeper.fire("locked")


def waiting_jobs_are_found_by_indexes(bench):
    """Although most jobs are in groups or wait, and a group has many jobs that wait for it."""
    server = bench.server
    server.stop()
    server.start("session_preload_libraries=auto_explain", "auto_explain.log_min_duration=0")
    bench.opened("schema=groups").end()
    bench.sql("""
        set session_replication_role = replica;
        insert into groups.job (kind, key, payload, due, ready, of_group)
            select 'other', 'part ' || i, '', now(), now(), 'group ' || i / 2 from generate_series(1, 6000) i;
        insert into groups.job (kind, key, payload, due, ready, waits_for)
            select 'k', 'whole ' || i, '', now(), 'infinity', 'group ' || i % 3000 from generate_series(1, 6000) i;
        insert into groups.job (kind, key, payload, due, ready, waits_for)
            select 'k', 'many ' || i, '', now(), 'infinity', 'many' from generate_series(1, 25000) i;
        insert into groups.job (kind, key, payload, due, ready, of_group) values ('part', '1', '', now(), now(), 'many')""")
    begin = (server.folder / "log").stat().st_size
    handler = bench.handler("schema=groups", "poll_ms=100", kind="part")
    wait_until(lambda: bench.sql("select count(*) from groups.job where waits_for = 'many'") == "0", "all are released")
    handler.end()
    with (server.folder / "log").open(encoding="utf-8") as log:
        log.seek(begin)
        plans = [(ms, plan) for ms, plan in plans_in(log.read()) if "left_over" in plan and "waited" in plan]
    expect(len(plans) > 2, f"only {len(plans)} releases are in the server's log")
    for _, plan in plans:
        expect("Seq Scan on job" not in plan and "job_of_group on job left_over" in plan, f"a release is not by\n{plan}")
    print(f"  {len(plans)} releases: {median(ms for ms, _ in plans):.2f} ms, at most {max(ms for ms, _ in plans):.0f}")
    bench.sql("drop schema groups cascade")
    server.stop()
    server.start()


# --- texts that are not UTF-8 -------------------------------------------------------------------

@contextmanager
def without_encoding(bench):
    """The address of a database that accepts any bytes as a text."""
    bench.sql("create database bytes encoding 'SQL_ASCII' template template0")
    try:
        yield bench.server.address().replace("/postgres?", "/bytes?")
    finally:
        bench.sql("alter database bytes allow_connections false")
        bench.sql("select pg_terminate_backend(pid) from pg_stat_activity where datname = 'bytes'")
        bench.sql("drop database bytes")  # waits for these connections to end


def names_that_are_not_utf8_are_refused_by_sql(bench):
    with without_encoding(bench) as address:
        bench.opened(address=address)
        names = ("'bad', E'\\xff'", "E'\\xff', 'bad'", "'bad', E'\\xed\\xa0\\x80'",
                 "'bad', repeat(E'\\xc3\\xbc', 257)")
        expect_data_exceptions(bench, [f"put({each}, now())" for each in names], "bytes")
        longest = "select tickwheel.put('k', repeat(E'\\xc3\\xbc', 256), now())"
        expect(bench.server.psql(longest, "bytes") == "f", "the longest name is refused")


def a_row_that_is_not_utf8_stops_no_other(bench):
    """It stops neither jobs of its kind, nor jobs of another kind, nor a list."""
    with without_encoding(bench) as address:
        handler = bench.handler("poll_ms=100", address=address)
        handler.do("handle", "bad")
        for key, zone in ("E'\\xff'", "null"), ("'zone'", "E'\\xfe'"):
            done = bench.server.psql(f"""
                insert into tickwheel.job (kind, key, payload, due, ready, missed, grace, zone)
                values ('bad', {key}, '', now(), now(), 0, 0, {zone})""", "bytes")
            expect(done is not None, "it was not inserted")
        wait_until(lambda: handler.ask("list")["text"].count(" 8 its key, cron expression or zone is not UTF-8") == 2,
                   "they have failed", 10)
        expect("bad ? 8" in handler.ask("list")["text"], "the list does not show it")
        for kind, key in ("k", "other"), ("bad", "grün"):
            handler.do("put", kind, key, 0)
            handler.fire(key.encode().decode("latin-1"), PROMPT_S)  # ASK writes byte by byte
        expect(len(handler.fires) == 2, "a handler was called with what is not UTF-8")


# --- many jobs ----------------------------------------------------------------------------------

def plans_in(text):
    """The plans that auto_explain has written: milliseconds and text."""
    for entry in re.split(r"\n(?=\d{4}-\d\d-\d\d )", text):
        if (found := re.search(r"duration: ([0-9.]+) ms  plan:\n(.*)", entry, re.S)) is not None:
            yield float(found[1]), found[2]


def jobs_that_are_not_due_cost_nothing(bench):
    server = bench.server
    server.stop()
    server.start("session_preload_libraries=auto_explain", "auto_explain.log_min_duration=0")
    bench.opened("schema=many").end()
    bench.sql(f"""
        set session_replication_role = replica;
        insert into many.job (kind, key, payload, due, ready)
        select 'k', 'later ' || i, '', due, due
        from generate_series(1, {bench.options.jobs}) i,
            lateral (select now() + '30 days' + i * interval '1 ms') as it (due)""")
    size = int(server.psql("select pg_total_relation_size('many.job')")) // bench.options.jobs
    expect(size < 300, f"a job takes {size} bytes")
    begin = (server.folder / "log").stat().st_size
    handler, putter = bench.handler("schema=many", "lease_ms=1000"), bench.opened("schema=many")
    before = None
    for i in range(40):
        putter.do("put", "k", f"now{i}", 20)
        handler.fire(f"now{i}")
        before = before or handler.memory()
    grown = handler.memory() - before
    with (server.folder / "log").open(encoding="utf-8") as log:
        log.seek(begin)
        plans = list(plans_in(log.read()))
    claims = [(ms, plan) for ms, plan in plans if "skip locked) as near" in plan]
    expect(len(claims) >= 40, f"only {len(claims)} claims are in the server's log")
    expect(all("using job_ready on job" in plan for _, plan in claims), "a claim does not use the index")
    for _, plan in plans:
        expect("Seq Scan on job" not in plan, f"all jobs are read by\n{plan}")
    print(f"  {len(claims)} claims: {median(ms for ms, _ in claims):.2f} ms, memory +{grown // 1024} KiB, "
          f"{size} bytes a job")
    expect(median(ms for ms, _ in claims) < 10, "claims take longer than 10 ms")
    expect(grown < 16 << 20, f"the process has grown by {grown} bytes")
    handler.end()
    putter.end()
    bench.sql("drop schema many cascade")
    server.stop()
    server.start()


# --- addresses ----------------------------------------------------------------------------------

def ask_for_passwords(bench):
    """Makes a user who needs a password, and may not create anything."""
    rules = bench.server.folder / "data/pg_hba.conf"
    if "secretive" not in rules.read_text():
        rules.write_text("local all secretive scram-sha-256\nlocal all nobody scram-sha-256\n" + rules.read_text())
        bench.sql(f"set password_encryption = 'scram-sha-256'; create role secretive login password '{SECRET}';"
                  "select pg_reload_conf()")


def refusals(bench):
    home = bench.server.folder
    ask_for_passwords(bench)
    malformed = [
        f"postgresql://u:{SECRET}@h:port/db", f"postgresql://u:{SECRET}%zz@h/db", f"postgresql://u:{SECRET}@[::1/db",
        f"postgresql:///db?password={SECRET}&nonsense=1", f"postgresql:password={SECRET}", f"postgresql:{SECRET}",
        f"postgresql://u:{SECRET}@h/db?sslmode", f"postgresql:user=u\tpassword='{SECRET}", f"postgres:///?={SECRET}",
        # Characters that a password must escape: libpq takes the rest of the password for a host, a port or a database.
        f"postgresql://u:pass@{SECRET}@h/db", f"postgresql://u:{SECRET}/pass@h/db",
        f"postgresql://u:pass/{SECRET}@h/db", f"postgresql://u:{SECRET}/x@/db",
    ]
    yield from ((address, errno.EINVAL) for address in malformed)
    yield f"postgresql://secretive:{SECRET}x@/postgres?host={home}", errno.EACCES
    yield f"postgresql://secretive@/postgres?host={home}", errno.EACCES
    yield f"postgresql://nobody:{SECRET}@/postgres?host={home}", errno.EACCES
    yield f"postgresql://absent:{SECRET}@/postgres?host={home}", errno.EACCES
    yield f"postgresql://secretive:{SECRET}@/absent?host={home}", errno.ENOENT
    yield f"postgresql://u:{SECRET}@/postgres?host={home}/absent", errno.ENOTCONN
    yield f"postgresql://u:{SECRET}@/postgres?host={home}&port=5433", errno.ENOTCONN
    yield f"postgresql://u:{SECRET}@127.0.0.1:1/postgres", errno.ENOTCONN
    yield f"postgresql://u:{SECRET}@host.invalid/postgres", errno.ENOTCONN
    yield f"mysql://u:{SECRET}@h/db", errno.EOPNOTSUPP


def bad_addresses_have_documented_errors_without_the_password(bench):
    asker = bench.asker()
    for address, error in refusals(bench):
        said = asker.ask("open", address)
        expect(said["result"] == -error, f"{address}: {said['result']} instead of {-error}, {said['why']}")
        expect(SECRET not in said["why"], f"{address}: the password is in: {said['why']}")
        expect(said["why"], f"{address}: there is no explanation")
    asker.end()
    expect(SECRET not in asker.errors, f"the password is in: {asker.errors}")


def a_silent_server_leaves_time_for_the_next(bench):
    """As after the failure of a machine: it is still first in the address."""
    with socket.create_server(("127.0.0.1", 0)) as silent, stalled(bench) as between:
        ports = f"{silent.getsockname()[1]},{between.port}"
        address = f"postgresql:///postgres?host=127.0.0.1,localhost&port={ports}&user=postgres&sslmode=disable"
        asker = bench.opened("timeout_ms=2000", address=address + "&target_session_attrs=read-write")
        expect(asker.do("put", "other", "x", 10**8, result=0), "it is put")
        between.mode = HOLE
        bench.asker().do("open", address, "timeout_ms=200", result=-errno.ETIMEDOUT)
        between.mode = PASS


def passwords_are_nowhere(bench):
    ask_for_passwords(bench)
    schema = bench.schema()
    bench.sql(f"create schema {schema[7:]} authorization secretive")
    handler = bench.handler(schema, address=f"postgresql://secretive:{SECRET}@/postgres?host={bench.server.folder}")
    handler.do("put", "k", "x", 10**7)
    seen = bench.sql("select * from pg_stat_activity where usename = 'secretive'")
    seen += bench.sql(f"select * from {schema[7:]}.member")
    expect("tickwheel" in seen, "the server does not know the program's name")
    bench.sql("select pg_terminate_backend(pid) from pg_stat_activity where usename = 'secretive'")
    wait_until(lambda: len(handler.events) >= 3, "it connects again")
    seen += handler.ask("dump")["text"] + json.dumps(handler.events)
    handler.end()
    expect(SECRET not in seen + handler.errors, "the password can be seen")


def make_certificate(folder, name):
    """A certificate for localhost that vouches for itself. Returns its path, and that of its key."""
    certificate, key = folder / f"{name}.crt", folder / f"{name}.key"
    done = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                           "-nodes", "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost",
                           "-keyout", key, "-out", certificate],
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    expect(done.returncode == 0, done.stdout)
    shutil.chown(key, (folder / "data").owner())
    key.chmod(0o600)
    return certificate, key


@contextmanager
def only_encrypted(bench, certificate, key):
    """The port of the server, which takes nothing but TLS there."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    rules = bench.server.folder / "data/pg_hba.conf"
    former = rules.read_text()
    rules.write_text("hostssl all all 127.0.0.1/32 trust\n")
    bench.server.stop()
    bench.server.start("ssl=on", f"ssl_cert_file={certificate}", f"ssl_key_file={key}", "listen_addresses=127.0.0.1",
                       f"port={port}")
    try:
        yield port
    finally:
        rules.write_text(former)
        bench.server.stop()
        bench.server.start()


def a_server_that_requires_tls(bench):
    certificate, key = make_certificate(bench.server.folder, "server")
    other, _ = make_certificate(bench.server.folder, "other")
    with only_encrypted(bench, certificate, key) as port:
        def address(host="localhost", **parts):
            return bench.server.address(host=host, port=port, **parts)
        for each in address(), address(sslmode="require"), address(sslmode="verify-full", sslrootcert=certificate):
            handler = bench.handler(address=each)
            handler.do("put", "k", "encrypted", 0)
            handler.fire("encrypted", PROMPT_S)
            handler.end()
        asker = bench.asker()
        for each, error, why in (
                (address(sslmode="disable"), errno.EACCES, "no pg_hba.conf entry"),
                (address(sslmode="verify-full", sslrootcert=other), errno.ENOTCONN, "certificate verify failed"),
                (address("127.0.0.1", sslmode="verify-full", sslrootcert=certificate), errno.ENOTCONN,
                 "does not match host name"),
                (address(sslmode="verify-full", sslrootcert="/absent/of/database.crt"), errno.ENOTCONN,
                 "root certificate file")):
            said = asker.ask("open", each)
            expect(said["result"] == -error and why in said["why"], f"{each}: {said['result']}, {said['why']}")


# --- a database that is there, and refuses ------------------------------------------------------

def without_a_right_nothing_fires_and_an_event_says_why(bench):
    schema = bench.schema()
    table = f"{schema[7:]}.job"
    bench.opened(schema).end()
    bench.sql(f"drop role if exists limited; create role limited login; grant usage on schema {schema[7:]} to limited;"
              f"grant select, insert, update, delete on all tables in schema {schema[7:]} to limited;"
              f"grant usage on all sequences in schema {schema[7:]} to limited")
    owner = bench.opened(schema)
    handler = bench.handler(schema, address=f"postgresql://limited@/postgres?host={bench.server.folder}")
    for key in "removed", "kept":
        handler.do("put", "k", key, 1000 * PROMPT_S)
    bench.sql(f"revoke update on {table} from limited")
    owner.do("remove", "k", "removed", result=1)
    wait_until(lambda: len(handler.events) >= 2, "an event")
    expect(handler.events[1]["event"] == REFUSED, f"the events are {handler.events}")
    expect("permission denied" in handler.events[1]["why"], f"it says {handler.events[1]['why']}")
    expect("permission denied" in handler.ask("dump")["text"], "the dump does not say why")
    bench.sql(f"grant update on {table} to limited")
    handler.fire("kept", 2 * PROMPT_S + 3)
    expect([each["fire"] for each in handler.fires] == ["kept"], f"it has fired {handler.fires}")
    wait_until(lambda: handler.events[-1]["event"] == CONNECTED, "it works again")


def a_lock_on_the_jobs_does_not_end_the_lease(bench):
    schema = bench.schema()
    handler = bench.handler(schema, "lease_ms=2000", "poll_ms=50")
    bench.sql(f"begin; lock table {schema[7:]}.job; select pg_sleep(6); commit")
    wait_until(lambda: handler.events[-1]["event"] == CONNECTED, "it works again")
    events = [each["event"] for each in handler.events]
    expect(events == [CONNECTED, REFUSED, CONNECTED], f"the events are {handler.events}")
    handler.do("put", "k", "x", 0)
    handler.fire("x", PROMPT_S)


def jobs_that_two_others_remove_one_after_the_other_do_not_fire(bench):
    """The dispatcher skips the locked jobs, and asks again until they are gone.

    The long horizon leaves a busy machine the time to begin the transactions before the jobs are due.
    """
    schema = bench.schema()
    handler = bench.handler(schema, "horizon_ms=10000")
    ends_s = {"before": 0.6, "first": 1.2, "second": 2.4}  # of the transactions that remove them, after they are due
    for key in ends_s:
        handler.do("put", "k", key, 1000 * PROMPT_S)
    held = f"select count(*) from {schema[7:]}.job where holder is not null"
    wait_until(lambda: bench.sql(held) == "3", "it claims them")

    def remove(key, end_s):
        bench.sql(f"begin; with gone as (delete from {schema[7:]}.job where key = '{key}' returning ready)"
                  f"select pg_sleep(extract(epoch from ready - clock_timestamp()) + {end_s}) from gone; commit")
    removals = [threading.Thread(target=remove, args=each) for each in ends_s.items()]
    for each in removals:
        each.start()
    for each in removals:
        each.join()
    handler.do("put", "k", "later", 0)
    handler.fire("later", PROMPT_S)
    expect(len(handler.fires) == 1, f"removed jobs have fired: {handler.fires}")


@contextmanager
def locked(bench, job, schema="tickwheel"):
    """A transaction that has locked a job. Neither the end of its connection nor a crash of the server ends it."""
    bench.sql(f"begin; select from {schema}.job where key = '{job}' for update; prepare transaction 'lock'")
    try:
        yield
    finally:
        bench.sql("rollback prepared 'lock'")


def is_settled(bench, key, schema="tickwheel"):
    return bench.sql(f"select count(*) from {schema}.job where key = '{key}'") == "0"


def a_lock_on_a_job_that_is_due_delays_no_other(bench):
    schema = bench.schema()
    handler = bench.handler(schema)
    handler.do("put", "k", "locked", 2500)  # a busy machine needs a second for the lock
    with locked(bench, "locked", schema[7:]):
        for i in range(5):
            handler.do("put", "k", f"other-{i}", 2500 + 300 * i)
        for i in range(5):
            late = handler.fire(f"other-{i}")
            expect(late["real"] - late["due"] < 1000 * MS, f"other {i} is {(late['real'] - late['due']) / MS} ms late")
        expect(len(handler.fires) == 5, "the job fires although its start is not confirmed")
    handler.fire("locked", PROMPT_S)


def a_lock_on_a_job_that_has_run_delays_no_other_answer(bench):
    schema = bench.schema()
    handler = bench.handler(schema, kind="held")
    handler.do("handle", "k")
    handler.do("put", "held", "locked", 0)
    handler.fire("locked")
    with locked(bench, "locked", schema[7:]):
        handler.do("go")
        wait_until(lambda: "unsettled 1" in handler.ask("counts")["text"], "it waits")
        handler.do("put", "k", "other", 0)
        handler.fire("other")
        wait_until(lambda: is_settled(bench, "other", schema[7:]), "the other is settled", PROMPT_S)
        expect(not is_settled(bench, "locked", schema[7:]), "what is locked cannot be settled")
    wait_until(lambda: is_settled(bench, "locked", schema[7:]), "it is settled", PROMPT_S)
    expect(len(handler.fires) == 2, "a job has fired again")


def a_lock_on_a_job_that_nobody_knows_of_stops_no_other(bench):
    """The database holds the job for a process that has not received the answer to its claim."""
    schema = bench.schema()
    handler = bench.handler(schema)
    name = schema[7:]
    bench.sql(f"select {name}.put('k', 'locked', now() + '1 h');"
              f"update {name}.job set holder = (select id from {name}.member), token = nextval('{name}.token');"
              f"insert into {name}.claim (member, kind, first, last) select holder, kind, ready, ready from {name}.job")
    with locked(bench, "locked", name):
        bench.sql("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tickwheel'")
        wait_until(lambda: len(handler.events) >= 3, "it connects again")
        bench.sql(f"select {name}.put('k', 'other', now())")
        handler.fire("other", PROMPT_S)
    free = f"select count(*) from {name}.job where key = 'locked' and holder is null"
    wait_until(lambda: bench.sql(free) == "1", "it is released", PROMPT_S)


def a_removal_of_many_passes_over_what_is_locked(bench):
    """The locked jobs fill the first batch, and a part of the second."""
    schema = bench.schema()
    putter = bench.opened(schema)
    name = schema[7:]
    bench.sql(f"select {name}.put('k', to_char(n, '0000'), now() + '1 h') from generate_series(1, 2500) as n;"
              f"begin; select from {name}.job where key <= ' 1100' for update; prepare transaction 'lock'")
    try:
        putter.do("remove_all", "k", result=1400)
    finally:
        bench.sql("rollback prepared 'lock'")
    putter.do("remove_all", "k", result=1100)


def a_fire_on_demand_waits_for_a_lock(bench):
    schema = bench.schema()
    handler = bench.handler(schema)
    handler.do("put", "k", "locked", 10**7)
    with locked(bench, "locked", schema[7:]):
        handler.say("fire", "k", "locked")
        wait_until(lambda: bench.sql("select count(*) from pg_locks where not granted") != "0", "it waits for the lock")
    expect(handler.answer()["result"] == 1, "it does not fire")
    handler.fire("locked", PROMPT_S)


def a_close_releases_all_but_what_is_locked(bench):
    schema = bench.schema()
    leaver, heir = bench.handler(schema), bench.opened("runtime=1", schema)
    for key in ("locked", "free"):
        leaver.do("put", "k", key, 1500)
    with locked(bench, "locked", schema[7:]):
        leaver.do("close")
        heir.do("handle", "k")
        heir.fire("free", PROMPT_S)
    heir.fire("locked", 30)


def large_jobs_fire_however_short_the_lease(bench):
    """A claim of a thousand large jobs takes longer than the timeout, so the process repeats it with a lower limit.

    The time of such a claim depends on the machine: about half the time to read and hash all payloads once.
    """
    count, schema = 1000, bench.schema()
    bench.opened(schema).end()
    bench.sql(f"select count({schema[7:]}.put('k', n::text, now(), convert_to(repeat('x', 65536), 'UTF8')))"
              f"from generate_series(1, {count}) n")
    began = time.monotonic()
    bench.sql(f"select sum(length(md5(payload))) from {schema[7:]}.job")
    timeout_ms = min(max(20, round(1000 * (time.monotonic() - began) / 3)), 1000)  # not longer than the lease
    handler = bench.handler("lease_ms=1000", f"timeout_ms={timeout_ms}", schema)
    wait_until(lambda: len(handler.fires) >= count, "all fire", 60)
    expect("errors 0 " not in handler.ask("counts")["text"], "no claim was too large")


# --- connections --------------------------------------------------------------------------------

def backend_of_dispatcher(bench):
    """The server's process for the dispatcher's connection, whose last statement has settled a job."""
    text = "select pid from pg_stat_activity where pid <> pg_backend_pid() and query like '%moved as (%'"
    return int(wait_until(lambda: bench.sql(text), "a job is settled"))


def removed_jobs_do_not_fire_although_all_connections_break(bench):
    schema = bench.schema()
    handler, remover = bench.handler(schema), bench.opened(schema)
    for i in range(5):
        handler.do("put", "k", f"before-{i}", 0)
        handler.fire(f"before-{i}")
        for key in (f"removed-{i}", f"stays-{i}"):
            handler.do("put", "k", key, 500)
        remover.do("remove", "k", f"removed-{i}", result=1)
        bench.sql(f"select pg_sleep(extract(epoch from ready - clock_timestamp()) - 0.01) from {schema[7:]}.job "
                  f"where key = 'stays-{i}'; select pg_terminate_backend(pid) from pg_stat_activity "
                  "where application_name = 'tickwheel'")
        handler.fire(f"stays-{i}")
        expect(len(handler.fires) == 2 * i + 2, f"a removed job has fired: {handler.fires}")
        for each in (handler, remover):
            wait_until(lambda: each.ask("count")["result"] >= 0, "it connects again")


def a_removed_job_does_not_fire_although_one_connection_falls_silent(bench):
    schema = bench.schema()
    handler, remover = bench.handler(schema), bench.opened(schema)
    handler.do("put", "k", "before", 0)
    handler.fire("before")
    dispatcher = backend_of_dispatcher(bench)
    for key in ("removed", "stays"):
        handler.do("put", "k", key, 500)
    remover.do("remove", "k", "removed", result=1)
    os.kill(dispatcher, signal.SIGSTOP)
    try:
        handler.fire("stays", PROMPT_S)
        wait_until(lambda: is_settled(bench, "stays", schema[7:]), "it is settled", PROMPT_S)
    finally:
        os.kill(dispatcher, signal.SIGCONT)
    expect(len(handler.fires) == 2, f"the removed job has fired: {handler.fires}")


# --- tables -------------------------------------------------------------------------------------

def a_server_that_can_only_be_read(bench):
    read_only = bench.server.address(options="-c%20default_transaction_read_only%3Don")
    bench.opened().do("put", "other", "stays", 10**8)
    reader = bench.opened(address=read_only)
    reader.do("put", "other", "x", 10**8, result=-errno.EROFS)
    expect(reader.ask("count")["result"] > 0, "it cannot be read")
    reader.do("remove", "other", "stays", result=-errno.EROFS)
    bench.asker().do("open", read_only, bench.schema(), result=-errno.EROFS)
    bench.sql("select tickwheel.remove('other', 'stays')")


def tables_of_others_are_refused(bench):
    schema = bench.schema()
    bench.opened(schema).end()
    for change in ("update $.meta set version = 99, oldest_sharing = 99", "delete from $.meta", "drop table $.meta",
                   "drop schema $ cascade; create schema $; create table $.job (x int)"):
        bench.sql(change.replace("$", schema[7:]))
        bench.asker().do("open", bench.server.address(), schema, result=-errno.EPROTO)
    bench.sql(f"drop schema {schema[7:]} cascade")
    bench.opened(schema)


def expect_later_release(why):
    expect(re.search(r"changed the tables to version 99, .* knows version \d+: use the later release", why),
           f"it says {why}")


def tables_of_a_later_release_are_refused(bench):
    """When a process opens them, and when a running process connects again."""
    schema = bench.schema()
    handler = bench.handler(schema)
    version = bench.sql(f"select version from {schema[7:]}.meta")
    bench.sql(f"update {schema[7:]}.meta set version = 99, oldest_sharing = 99")
    for settings in (), ("runtime=1",):
        said = bench.asker().ask("open", bench.server.address(), schema, *settings)
        expect(said["result"] == -errno.EPROTO, f"{said['result']}, {said['why']}")
        expect_later_release(said["why"])
    bench.sql("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tickwheel'")
    refused = wait_until(lambda: [each for each in handler.events if each["event"] == REFUSED], "an event")
    expect_later_release(refused[0]["why"])
    expect(handler.ask("put", "k", "x", 0)["result"] < 0, "it has put a job")  # it may find that its connection is gone
    expect_later_release(handler.ask("put", "k", "x", 0)["why"])
    expect(bench.sql(f"select count(*) from {schema[7:]}.job") == "0", "it has put a job")
    bench.sql(f"update {schema[7:]}.meta set version = {version}, oldest_sharing = {version}")
    wait_until(lambda: handler.events[-1]["event"] == CONNECTED, "it works again")
    handler.do("put", "k", "x", 0)
    handler.fire("x", PROMPT_S)


def two_releases_share_tables_to_which_the_later_one_has_added(bench):
    """As during a rolling deploy: the later release says in `meta` that this one can share its tables."""
    schema = bench.schema()
    name = schema[7:]
    before = bench.handler(schema)
    bench.sql(f"alter table {name}.job add column later text default 'x', add column more int;"
              f"alter table {name}.member add column later int; alter table {name}.claim add column later int;"
              f"update {name}.meta set version = version + 1")
    after = bench.handler(schema)
    for i in range(20):
        (before if i % 2 else after).do("put", "k", f"{i}", 0)
    wait_until(lambda: len(before.fires) + len(after.fires) == 20, "all have fired", PROMPT_S)
    bench.sql("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'tickwheel'")
    wait_until(lambda: before.events[-1]["event"] == CONNECTED and len(before.events) > 1, "it connects again")
    expect(bench.sql(f"select version from {name}.meta") == "4", "an older release has changed the tables")


def a_user_who_may_not_create_tables(bench):
    ask_for_passwords(bench)
    address = f"postgresql://secretive:{SECRET}@/postgres?host={bench.server.folder}"
    bench.asker().do("open", address, bench.schema(), result=-errno.EACCES)


def many_processes_create_the_tables_at_once(bench):
    for _ in range(2):
        schema = bench.schema()
        askers = [bench.asker() for _ in range(6)]
        for each in askers:
            each.say("open", bench.server.address(), schema)
        for i, each in enumerate(askers):
            said = each.answer()
            expect(said["result"] == 0, f"{said['result']}: {said['why']}")
            each.do("put", "k", i, 10**8)
        expect(askers[0].ask("count")["result"] == len(askers), "jobs are missing")
        for each in askers:
            each.end()


# --- losing the server --------------------------------------------------------------------------

def a_restart_is_survived(bench):
    handler, putter = bench.handler(), bench.opened("timeout_ms=1000")
    putter.do("put", "k", "later", 2500)
    bench.server.stop()
    wait_until(lambda: len(handler.events) >= 2, "it notices that the server has gone")
    for _ in range(2):
        began = time.monotonic()
        putter.do("put", "k", "away", 0, result=-errno.ENOTCONN)
        expect(time.monotonic() - began < 1 + PROMPT_S, "a put hung")
    bench.server.start()
    wait_until(lambda: len(handler.events) >= 3, "it connects again")
    wait_until(lambda: putter.ask("put", "k", "back", 0)["result"] == 0, "it is put")
    handler.fire("back", PROMPT_S)
    handler.fire("later")
    events = [each["event"] for each in handler.events if each["event"] != LEASE_LOST]
    expect(events == [CONNECTED, DISCONNECTED, CONNECTED], f"the events are {events}")
    expect(handler.events[1]["why"], "nobody knows why it was disconnected")


def crash(bench):
    """kill -9 of all processes of the server, and its recovery."""
    bench.server.kill()
    bench.server.start()


@contextmanager
def slow_to_write(bench):
    """A server that crashes before it has written the commits for which no client waits."""
    bench.server.stop()
    bench.server.start("wal_writer_delay=10000", "autovacuum=off")
    try:
        yield
    finally:
        bench.server.stop()
        bench.server.start()


def quiet_handler(bench, kind, *settings):
    """A handler without claims and renewals for long: their commits would also write earlier ones to the disk."""
    return bench.handler("poll_ms=30000", "lease_ms=90000", *settings, kind=kind)


def expect_running(bench, key):
    expect(bench.opened().ask("remove", "slow", key)["result"] == 0, f"remove has prevented {key}, whose handler runs")


def a_start_survives_a_crash_of_the_server(bench):
    with slow_to_write(bench):
        handler = quiet_handler(bench, "slow")
        handler.do("put", "slow", "running", 300)
        handler.fire("running")
        handler.running.send_signal(signal.SIGSTOP)  # so it cannot mark the job again
        crash(bench)
        expect_running(bench, "running")
        handler.running.send_signal(signal.SIGCONT)


def what_starts_during_an_outage_is_running_afterwards(bench):
    handler = quiet_handler(bench, "slow")
    handler.do("put", "slow", "alone", 1500)
    bench.server.kill()
    handler.fire("alone")
    bench.server.start()
    wait_until(lambda: len(handler.events) >= 3, "it connects again")
    wait_until(lambda: "slow alone 4 " in handler.ask("list")["text"], "it is marked as started", 10)
    expect_running(bench, "alone")


def a_lock_on_a_job_that_started_in_an_outage_stops_no_other(bench):
    handler = quiet_handler(bench, "slow")
    handler.do("handle", "k")
    handler.do("put", "slow", "locked", 1500)
    with locked(bench, "locked"):
        bench.server.kill()
        handler.fire("locked")
        bench.server.start()
        wait_until(lambda: len(handler.events) >= 3, "it connects again")
        bench.sql("select tickwheel.put('k', 'other', now())")
        handler.fire("other", PROMPT_S)
    wait_until(lambda: "slow locked 4 " in handler.ask("list")["text"], "it is marked as started", PROMPT_S)
    expect_running(bench, "locked")


def what_starts_while_its_connection_breaks_is_running(bench):
    """The dispatcher's connection alone breaks."""
    handler = quiet_handler(bench, "slow")
    handler.do("handle", "k")
    handler.do("put", "k", "settled", 0)
    handler.fire("settled")
    dispatcher = backend_of_dispatcher(bench)
    handler.do("put", "slow", "cut-off", 1500)
    bench.sql(f"select pg_terminate_backend({dispatcher})")
    handler.fire("cut-off")
    wait_until(lambda: "slow cut-off 4 " in handler.ask("list")["text"], "it is marked as started", 10)
    expect_running(bench, "cut-off")


def an_answer_that_a_crash_of_the_server_has_lost_is_given_again(bench):
    """The job fires once more for the same due time: answers are not on disk at once, as DURABLE.md says."""
    with slow_to_write(bench):
        handler = quiet_handler(bench, "k")
        handler.do("put", "k", "ended", 300)
        handler.fire("ended")
        wait_until(lambda: bench.sql("select count(*) from tickwheel.job where key = 'ended'") == "0", "it is settled")
        crash(bench)
        wait_until(lambda: len(handler.fires) == 2, "it fires again", 30)
        wait_until(lambda: bench.sql("select count(*) from tickwheel.job where key = 'ended'") == "0", "it is settled")
        expect(handler.fires[0]["due"] == handler.fires[1]["due"], "it fires for another due time")


def an_answer_ends_no_other_job_with_its_token(bench):
    """As after a failover to a server that lacks the last claims: there the tokens come again."""
    handler, putter = bench.handler("poll_ms=200", kind="held"), bench.opened()
    putter.do("put", "held", "answered", 0)
    handler.fire("answered")
    putter.do("put", "held", "other", 10**8)
    bench.sql("""
        begin; create temp table claim as select holder, token from tickwheel.job where key = 'answered';
        update tickwheel.job set holder = null, started = false where key = 'answered';
        update tickwheel.job set holder = claim.holder, token = claim.token from claim where key = 'other'; commit""")
    handler.do("go")
    wait_until(lambda: len(handler.fires) == 2, "the first job fires again", 30)
    wait_until(lambda: bench.sql("select count(*) from tickwheel.job where key = 'answered'") == "0", "it is settled")
    putter.do("remove", "held", "other", result=1)


@contextmanager
def stalled(bench):
    between = Proxy(bench.server.socket())
    try:
        yield between
    finally:
        between.end()


def nothing_waits_for_longer_than_the_timeout(bench):
    with stalled(bench) as between:
        asker = bench.opened("timeout_ms=500", address=between.address())
        asker.do("put", "other", "x", 10**8)
        between.mode = HOLE
        for _ in range(3):  # on the open connection, and on new ones
            began = time.monotonic()
            asker.do("put", "other", "x", 10**8, result=-errno.ETIMEDOUT)
            took = time.monotonic() - began
            expect(0.4 < took < 0.5 + PROMPT_S, f"a put took {took:.1f} s")
        between.cut()
        between.mode = PASS
        wait_until(lambda: asker.ask("put", "other", "x", 10**8)["result"] >= 0, "it is put")
        asker.end()


def a_count_may_take_longer_than_the_timeout(bench):
    with stalled(bench) as between:
        asker = bench.opened("timeout_ms=500", address=between.address())
        between.mode = HOLE
        # The server runs in real time. This waits for the timeout, and half a second more for a busy machine.
        threading.Timer(1, setattr, [between, "mode", PASS]).start()
        count = asker.ask("count")
        expect(count["result"] >= 0, f"the count failed: {count['why']}")
        asker.end()


def a_close_does_not_wait_for_longer_than_the_timeout(bench):
    with stalled(bench) as between:
        handler = bench.handler("timeout_ms=500", address=between.address())
        between.mode = HOLE
        began = time.monotonic()
        handler.do("close")
        expect(time.monotonic() - began < 1 + PROMPT_S, "the close hung")
        between.mode = PASS


# Each group has a server of its own, so that ctest can run the groups at the same time.
GROUPS = {
    "calls": [
        jobs_of_others_start_at_once, jobs_that_nobody_tells_of_are_found_by_the_poll,
        a_job_that_was_removed_leaves_the_clock_alone, a_put_joins_the_callers_transaction,
        a_remove_joins_the_callers_transaction, a_put_by_sql_replaces_or_keeps,
        a_remove_by_sql_tells_whether_it_prevented_a_fire, bad_arguments_of_sql_are_refused,
        jobs_that_wait_are_put_and_released_by_sql, a_release_that_is_lost_is_made_up_for_by_the_poll,
        waiting_jobs_are_found_by_indexes,
        names_that_are_not_utf8_are_refused_by_sql, a_row_that_is_not_utf8_stops_no_other,
        bad_addresses_have_documented_errors_without_the_password, a_silent_server_leaves_time_for_the_next,
        passwords_are_nowhere, a_server_that_requires_tls, a_server_that_can_only_be_read,
        tables_of_others_are_refused, tables_of_a_later_release_are_refused,
        two_releases_share_tables_to_which_the_later_one_has_added, a_user_who_may_not_create_tables,
        many_processes_create_the_tables_at_once,
    ],
    "locks": [
        the_clock_is_told_without_a_handler, without_a_right_nothing_fires_and_an_event_says_why,
        a_lock_on_the_jobs_does_not_end_the_lease, jobs_that_two_others_remove_one_after_the_other_do_not_fire,
        a_lock_on_a_job_that_is_due_delays_no_other, a_lock_on_a_job_that_has_run_delays_no_other_answer,
        a_lock_on_a_job_that_nobody_knows_of_stops_no_other, a_removal_of_many_passes_over_what_is_locked,
        a_fire_on_demand_waits_for_a_lock, a_close_releases_all_but_what_is_locked,
        large_jobs_fire_however_short_the_lease,
    ],
    "outages": [
        jobs_of_a_killed_process_fire_elsewhere_when_its_lease_has_ended,
        removed_jobs_do_not_fire_although_all_connections_break,
        a_removed_job_does_not_fire_although_one_connection_falls_silent, a_restart_is_survived,
        a_start_survives_a_crash_of_the_server, what_starts_during_an_outage_is_running_afterwards,
        a_lock_on_a_job_that_started_in_an_outage_stops_no_other,
        what_starts_while_its_connection_breaks_is_running,
        an_answer_that_a_crash_of_the_server_has_lost_is_given_again,
        an_answer_ends_no_other_job_with_its_token, nothing_waits_for_longer_than_the_timeout,
        a_count_may_take_longer_than_the_timeout, a_close_does_not_wait_for_longer_than_the_timeout,
    ],
}
TESTS = [each for group in GROUPS.values() for each in group]


if __name__ == "__main__":
    given = running.parse_arguments("ask", tests=dict(nargs="*"),
                                    jobs=dict(type=int, default=10**6 if running.is_nightly() else 3 * 10**4,
                                              help="that are due next month"))
    chosen = [test for name in given.tests for test in GROUPS.get(name) or [globals()[name]]]
    running.main(lambda: run(chosen or TESTS, given))
    sys.exit(0)
