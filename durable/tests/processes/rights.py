"""rights.py ASK TOOL: the rights that `tickwheel-jobs setup --role` (TOOL) grants.

A process of the role (ASK, ask.cpp) can do everything that the library does; and without any one of the rights it
cannot. The test reads the rights from the database, takes one of them away, and looks whether something fails; for all
rights at the same time, each in a schema of its own.
"""
import os
import queue
import subprocess
import sys
import threading
from pathlib import Path
from urllib.parse import quote

import askers
import running
from running import Failed, expect, wait_until

ODD_NAMES = ["plain", 'quote"d', "semi; drop schema x", "$S.job", "Größe", "'literal'", "back\\slash", "select", "-- x"]

# The rights of a role in a schema, as statements that take them away.
RIGHTS = """
    select format('revoke %s on %s from %I', right_to.privilege_type, right_to.whole, rolname)
    from (
        select privilege_type, grantee, 'schema ' || oid::regnamespace as whole
        from pg_namespace, aclexplode(nspacl) where nspname = '$S'
        union all
        select privilege_type, grantee, case relkind when 'S' then 'sequence ' else '' end || pg_class.oid::regclass
        from pg_class, aclexplode(relacl) where relnamespace = '$S'::regnamespace
        union all
        select privilege_type, grantee, 'function ' || pg_proc.oid::regprocedure
        from pg_proc, aclexplode(proacl) where pronamespace = '$S'::regnamespace
        union all
        select privilege_type || '(' || attname || ')', grantee, attrelid::regclass::text
        from pg_attribute join pg_class on attrelid = pg_class.oid, aclexplode(attacl)
        where relnamespace = '$S'::regnamespace
    ) as right_to join pg_roles on pg_roles.oid = grantee
    where rolname = '$R' order by 1
"""


class Bench(askers.Bench):
    def tool(self, *words, address=None):
        environment = {**os.environ, "TICKWHEEL_DATABASE": address or self.server.address()}
        return subprocess.run([self.options.tool, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              env=environment, timeout=120)

    def set_up(self, schema, role, address=None):
        done = self.tool("setup", "--schema", schema, "--role", role, address=address)
        expect(done.returncode == 0, f"setup for {role}: {done.stderr}")

    def new_role(self, role):
        self.sql('create role "{}" login'.format(role.replace('"', '""')))

    def as_role(self, role, text):
        done = subprocess.run(["psql", "-XqtA", "-v", "ON_ERROR_STOP=1", self.server.address(user=quote(role))],
                              input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        expect(done.returncode == 0, f"{text}: {done.stderr}")
        return done.stdout.strip()

    def rights(self, schema, role):
        return self.sql(RIGHTS.replace("$S", schema).replace("$R", role.replace("'", "''"))).splitlines()


def fire(handler, key, times=1):
    """Waits for a fire. An event that the database has refused something is a failure."""
    def is_over():
        expect(not [each for each in handler.events if each["event"] == askers.REFUSED], f"{handler.events}")
        return [each["fire"] for each in handler.fires].count(key) >= times
    wait_until(is_over, f"{key} fires", 60)


def use_everything(bench, schema, role):
    """Raises Failed if the role cannot do something that the library does."""
    address, settings = bench.server.address(user=quote(role)), (f"schema={schema}", "lease_ms=2000", "poll_ms=200")
    handler, putter = bench.handler(*settings, address=address), bench.opened(f"schema={schema}", address=address)
    handler.do("handle", "bad")
    handler.do("handle", "limited", "running=1", "rate=1000")
    handler.do("put", "k", "at-once", 0)
    handler.do("put", "limited", "within-limits", 0)
    for key, delay in ("soon", 0), ("later", 300), ("gone", 10**8):
        putter.do("put", "k", key, delay)
    for key in "soon", "later", "within-limits":
        fire(handler, key)
    putter.do("remove", "k", "gone", result=1)
    putter.do("put", "bad", "fails", 0)
    wait_until(lambda: "bad fails 8" in putter.ask("list")["text"], "it has failed", 60)
    expect(putter.ask("count")["result"] >= 1, "it is not counted")
    requeued = bench.tool("requeue", "bad", "--schema", schema, address=address)
    expect(requeued.stdout == "1 requeued\n", requeued.stdout + requeued.stderr)
    fire(handler, "fails", 2)
    wait_until(lambda: "bad fails 8" in putter.ask("list")["text"], "it has failed again", 60)
    putter.do("remove", "bad", "fails", result=1)
    expect(bench.as_role(role, f"select {schema}.put('k', 'by sql', now())") == "f", "put by SQL fails")
    fire(handler, "by sql")
    bench.as_role(role, f"select {schema}.put('k', 'gone', now() + '1 h')")
    expect(bench.as_role(role, f"select {schema}.remove('k', 'gone')") == "t", "remove by SQL fails")

    crashed = bench.handler(*settings, address=address, kind="slow")
    crashed.do("put", "slow", "left-behind", 0)
    fire(crashed, "left-behind")
    crashed.running.kill()
    handler.do("handle", "slow")
    fire(handler, "left-behind")
    epoch = f"select epoch from {schema}.member order by id limit 1"  # the handler has joined first
    before = bench.sql(epoch)
    bench.sql(f"select pg_terminate_backend(pid) from pg_stat_activity where usename = $name${role}$name$")
    wait_until(lambda: bench.sql(epoch) != before, "it connects again", 60)
    handler.end()
    expect(bench.sql(f"select count(*) from {schema}.member") == "0", "a member is left")
    expect(bench.sql(f"select count(*) from {schema}.job") == "0", "a job is left")


# --- tests --------------------------------------------------------------------------------------

def each_right_is_needed_and_together_they_are_enough(bench):
    """Functions are for everybody unless an administrator has changed that, as here."""
    bench.sql("alter default privileges revoke execute on functions from public")
    bench.new_role("counts")
    bench.set_up("counted", "counts")
    count = len(bench.rights("counted", "counts"))
    expect(count > 10, f"there are only {count} rights")
    wrong = []

    def use(number):
        schema, role = f"rights_{number}", f"{ODD_NAMES[number % len(ODD_NAMES)]} {number}"
        bench.new_role(role)
        bench.set_up(schema, role)
        revoke = bench.rights(schema, role)[number] if number < count else None  # the last role has all rights
        if revoke is not None:
            bench.sql(revoke)
        try:
            use_everything(bench, schema, role)
            if revoke is not None:
                wrong.append(f"nobody needs the right that this takes away: {revoke}")
        except (Failed, queue.Empty) as failed:
            if revoke is None or "permission denied" not in str(failed):
                wrong.append(f"after {revoke}: {failed}")

    threads = [threading.Thread(target=use, args=[number]) for number in range(count + 1)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    expect(not wrong, "\n".join(wrong))


def expect_refused(bench, code, why, *words, address=None):
    done = bench.tool("setup", *words, address=address)
    expect(done.returncode == code and why in done.stderr, f"setup {words}: {done.returncode}, {done.stderr}")


def a_role_cannot_do_more(bench):
    bench.new_role("less")
    bench.set_up("less", "less")
    forbidden = ("create table less.mine (x int)", "alter table less.job add column x int", "drop table less.job",
                 "truncate less.job", "insert into less.meta values (1)", "update less.meta set version = 1",
                 "delete from less.meta", "select setval('less.token', 1)", "create index on less.job (due)",
                 "create or replace function less.remove(kind text, key text) returns boolean language sql as 'select t'",
                 "drop function less.remove", "alter schema less rename to more", "create schema other")
    codes = bench.as_role("less", server.ERROR_OF + "".join(f"select pg_temp.error_of($call${each}$call$);"
                                                            for each in forbidden)).splitlines()
    for text, code in zip(forbidden, codes, strict=True):
        expect(code == "42501", f"{text}: error {code}, not that a right is missing")
    expect_refused(bench, 1, "only the owner", "--schema", "less", "--role", "less",
                   address=bench.server.address(user="less"))


def a_setup_happens_as_a_whole(bench):
    expect_refused(bench, 1, 'role "absent" does not exist', "--schema", "half", "--role", "absent")
    expect(bench.sql("select to_regnamespace('half') is null") == "t", "the tables are there without the rights")
    bench.new_role("whole")
    former = (Path(__file__).parent / "version_1.sql").read_text().replace("tickwheel", "half")
    bench.sql(former)
    expect_refused(bench, 1, "does not exist", "--schema", "half", "--role", "absent")
    expect(bench.sql("select version from half.meta") == "1", "the tables are up to date without the rights")
    bench.set_up("half", "whole")
    expect(bench.sql("select version from half.meta") != "1", "the tables are not up to date")


def many_administrators_set_up_at_once(bench):
    roles = [f"one of many {number}" for number in range(6)]
    for each in roles:
        bench.new_role(each)
    threads = [threading.Thread(target=bench.set_up, args=["many", each]) for each in roles]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    for each in roles:
        expect(len(bench.rights("many", each)) > 10, f"{each} has too few rights")


TESTS = [each_right_is_needed_and_together_they_are_enough, a_role_cannot_do_more, a_setup_happens_as_a_whole,
         many_administrators_set_up_at_once]


if __name__ == "__main__":
    given = running.parse_arguments("ask", "tool", tests=dict(nargs="*"))
    running.main(lambda: askers.run([globals()[each] for each in given.tests] or TESTS, given, Bench))
    sys.exit(0)
