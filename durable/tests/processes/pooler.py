"""pooler.py SUITE ASK [TEST...]: the library through PgBouncer, a connection pooler. Runs the given tests, or all.

If each session has a process of the server to itself, everything works: the suite for all stores (SUITE, store.cpp),
and tests of server.py about notifications and lost connections. If each transaction has another process, an open is
refused, however idle or busy the pooler is. The long form has the whole suite instead of a part, more tests, and more
sizes of the pool. Ends with 77 if PgBouncer is not installed.
"""
import errno
import itertools
import os
import shutil
import subprocess
import sys
from contextlib import contextmanager

import askers
import running
import server
from running import expect, wait_until

PROGRAM = shutil.which("pgbouncer", path=os.environ["PATH"] + ":/usr/sbin")
PORT = 6432


class Pooler:
    """Stands between the processes of a test and their server: `address` leads through PgBouncer."""

    def __init__(self, behind, processes, **settings):
        self.behind, self.folder = behind, behind.folder
        every = {"listen_addr": "", "unix_socket_dir": self.folder, "listen_port": PORT, "auth_type": "any", **settings}
        lines = ["[databases]", f"* = host={self.folder} user=postgres", "[pgbouncer]",
                 *(f"{name} = {value}" for name, value in every.items())]
        configuration = self.folder / "pgbouncer.ini"
        configuration.write_text("\n".join(lines) + "\n")
        as_user = ["--user=postgres"] if os.getuid() == 0 else []  # it refuses to run as root
        self.running = subprocess.Popen([PROGRAM, "--quiet", *as_user, configuration],
                                        stdout=subprocess.DEVNULL, stderr=(self.folder / "pgbouncer.log").open("w"))
        processes.append(self.running)
        wait_until((self.folder / f".s.PGSQL.{PORT}").exists, "the pooler listens")

    def address(self, **parts):
        return self.behind.address(port=PORT, **parts)

    def psql(self, text, database="postgres"):
        return self.behind.psql(text, database)

    def end(self):
        self.running.terminate()
        self.running.wait(timeout=60)


@contextmanager
def pooled(direct, **settings):
    """The bench of a test, with a pooler before its server."""
    with running.ended_at_last() as processes:
        pooler = Pooler(direct.server, processes, **settings)
        yield askers.Bench(direct.options, pooler, processes)
        pooler.end()


# --- a process for each session ---------------------------------------------------------------------

def the_suite_for_all_stores_passes(direct):
    """The short form has what depends on sessions: notifications, and threads that race."""
    parts = ("*",) if running.is_nightly() else ("*listen*", "racing*")
    with pooled(direct, pool_mode="session", default_pool_size=40) as bench:
        for part in parts:
            done = subprocess.run([bench.options.suite, bench.server.address(), part], stdout=subprocess.PIPE,
                                  stderr=subprocess.STDOUT)
            expect(done.returncode == 0, done.stdout.decode(errors="replace"))


def processes_work_as_without_a_pooler(direct):
    more = (server.a_put_joins_the_callers_transaction, server.a_lock_on_a_job_that_is_due_delays_no_other,
            server.a_lock_on_the_jobs_does_not_end_the_lease, server.jobs_that_nobody_tells_of_are_found_by_the_poll)
    for each in (server.jobs_of_others_start_at_once, server.removed_jobs_do_not_fire_although_all_connections_break,
                 *(more if running.is_nightly() else ())):
        with pooled(direct, pool_mode="session", default_pool_size=40) as bench:
            each(bench)


def what_the_former_client_has_left_does_no_harm(direct):
    """PgBouncer does not reset the processes of the server here, and the next session gets the same ones."""
    with pooled(direct, pool_mode="session", default_pool_size=2, server_reset_query="") as bench:
        for i in range(5):
            asker = bench.opened()
            asker.do("put", "former", i, 10**8)
            expect(str(i) in asker.ask("list")["text"], "it is not in the list")
            asker.end()


def a_pool_without_a_second_connection_is_an_error_that_says_so(direct):
    with pooled(direct, pool_mode="session", default_pool_size=1) as bench:
        said = bench.asker().ask("open", bench.server.address(), "timeout_ms=1000")
        expect(said["result"] == -errno.ETIMEDOUT and "no second connection" in said["why"], f"it says {said}")


def an_address_may_have_options(direct):
    with pooled(direct, pool_mode="session", ignore_startup_parameters="options") as bench:
        bench.opened(address=bench.server.address(options="-c%20work_mem%3D1MB")).end()


# --- a process for each transaction -----------------------------------------------------------------

def expect_refused(bench, asker, *settings):
    said = asker.ask("open", bench.server.address(), *settings)
    expect(said["result"] == -errno.EOPNOTSUPP, f"{said['result']} instead of {-errno.EOPNOTSUPP}: {said['why']}")
    expect("use its session mode" in said["why"], f"it does not name the cure: {said['why']}")


@contextmanager
def clients(bench, count):
    """Other clients of the pooler, who keep its connections busy."""
    file = bench.server.folder / "client.sql"
    file.write_text("select pg_sleep(0.001);\n" * 100000)
    address = bench.server.address()
    busy = [subprocess.Popen(["psql", "-XqtA", "-f", file, address], stdout=subprocess.DEVNULL,
                             stderr=subprocess.DEVNULL) for _ in range(count)]
    bench.processes.extend(busy)
    used = "select count(*) from pg_stat_activity where query like '%pg_sleep(0.001)%' and pid <> pg_backend_pid()"
    wait_until(lambda: bench.sql(used) != "0", "the clients are there")
    yield
    for each in busy:
        each.kill()


def a_process_for_each_transaction_is_refused(direct):
    some = (("transaction", 1, 0), ("transaction", 2, 1), ("transaction", 5, 0), ("statement", 1, 0))
    every = itertools.product(("transaction", "statement"), (1, 2, 3, 5), (0, 1))
    for mode, size, in_turn in every if running.is_nightly() else some:
        with pooled(direct, pool_mode=mode, default_pool_size=size, server_round_robin=in_turn) as bench:
            asker = bench.asker()
            expect_refused(bench, asker)
            with clients(bench, size):
                expect_refused(bench, asker)  # while others use the pool
            expect_refused(bench, asker, "runtime=1")  # when the pool has all the connections that it may have


def a_refused_open_leaves_no_settings_to_others(direct):
    with pooled(direct, pool_mode="transaction", default_pool_size=1) as bench:
        expect_refused(bench, bench.asker())
        done = subprocess.run(["psql", "-XqtA", "-c", "show search_path", bench.server.address()],
                              stdout=subprocess.PIPE, text=True)
        expect("public" in done.stdout, f"the search path is {done.stdout}")


def the_functions_work_in_any_mode(direct):
    handler = direct.handler()
    with pooled(direct, pool_mode="transaction", default_pool_size=1) as bench:
        put = "select tickwheel.put('k', 'by-sql', now())"
        done = subprocess.run(["psql", "-XqtA", "-c", put, bench.server.address()], stdout=subprocess.PIPE, text=True)
        expect(done.stdout == "f\n", "it is not put")
        handler.fire("by-sql", askers.PROMPT_S)


TESTS = [the_suite_for_all_stores_passes, processes_work_as_without_a_pooler,
         what_the_former_client_has_left_does_no_harm, a_pool_without_a_second_connection_is_an_error_that_says_so,
         a_process_for_each_transaction_is_refused, a_refused_open_leaves_no_settings_to_others,
         an_address_may_have_options, the_functions_work_in_any_mode]


if __name__ == "__main__":
    if PROGRAM is None:
        sys.exit(running.SKIPPED)
    given = running.parse_arguments("suite", "ask", tests=dict(nargs="*"))
    running.main(lambda: askers.run([globals()[each] for each in given.tests] or TESTS, given))
