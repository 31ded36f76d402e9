"""power.py RECORDER WORKER ASK sqlite JOIN|postgres [--seed N] [--cuts N] [--keep FOLDER]: what was promised before a
power cut holds after it.

RECORDER (disk_recorder.c) writes down what a program does to its files, while WORKER (worker.cpp) puts, replaces,
removes, requeues and handles jobs, and writes a log. The log is one of these files, so the journal tells which calls
had returned before which write. Then, for each cut, disk.py builds the files that a disk could hold, ASK (ask.cpp)
opens the database, and the test compares its jobs with the log. JOIN (join.cpp) puts jobs by durable_sqlite.h.

The short form chooses the cuts by the seed. With TW_NIGHTLY=1 the test cuts SQLite's files at every write; and
PostgreSQL's at 100 writes, because a server must start for each cut.
"""
import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import time
from collections import Counter, defaultdict
from pathlib import Path

import running
from askers import Asker
from disk import EVERYTHING, NOTHING, SOME, Disk, read_journal
from history import DONE, ENOENT
from running import Failed, expect, wait_until

HELD, STARTED, FAILED = 2, 4, 8
LEASE_LOST = 2


class Job:
    """What the calls about one job have promised."""

    def __init__(self):
        self.version = None   # of the put that has returned last, unless the job was removed since
        self.removed = None   # the version that a removal did not find any more
        self.begun = None     # the call that has not returned: ("put", version) or ("remove", None)
        self.periods = {}     # by version
        self.done = set()     # the versions that a handler has answered with "done"
        self.requeues = self.requeued = False  # is being, or was, and no handler was called since


class Promises:
    """What a worker's log promises about the database after a power cut."""

    def __init__(self, starts_are_durable):
        self.starts_are_durable = starts_are_durable
        self.jobs = defaultdict(Job)
        self.fires, self.answers = {}, {}  # by token: key and version; answer and time
        self.settled = 0  # answers before this time are durable
        self.next_settled = {}  # by key: the same, once the put of this key has returned
        self.counts = Counter()

    def read(self, line):
        it = json.loads(line)
        reader = getattr(self, "read_" + it["what"], None)
        if reader:
            reader(it, self.jobs[it["key"]] if "key" in it else None)

    def read_puts(self, it, job):
        job.begun = ("put", it["version"])
        job.periods[it["version"]] = it["period"]
        self.next_settled[it["key"]] = it["settled"]

    def read_put(self, it, job):
        expect(it["result"] >= 0, f"a put has failed: {it}")
        job.version, job.removed, job.begun, job.requeued = it["version"], None, None, False
        self.settled = max(self.settled, self.next_settled[it["key"]])
        self.counts["puts"] += 1

    def read_removes(self, _, job):
        job.begun = ("remove", None)

    def read_removed(self, it, job):
        expect(it["result"] in (0, 1, ENOENT), f"a removal has failed: {it}")
        job.removed = job.version if it["result"] == ENOENT else None
        job.version = job.begun = None
        self.counts["removals"] += 1

    def read_requeues(self, _, job):
        job.requeues = True

    def read_requeued(self, it, job):
        expect(it["result"] in (1, ENOENT), f"a requeue has failed: {it}")
        job.requeued, job.requeues = it["result"] == 1 and job.requeues, False
        self.counts["requeues"] += job.requeued

    def read_fire(self, it, job):
        job.requeues = job.requeued = False
        self.fires[it["token"]] = (it["key"], it["version"])
        self.counts["fires"] += 1

    def read_answer(self, it, job):
        self.answers[it["token"]] = (it["answer"], it["boot"])
        _, version = self.fires[it["token"]]
        if it["answer"] == DONE and job.periods[version] == 0:
            job.done.add(version)

    def read_event(self, it, _):
        expect(it["event"] != LEASE_LOST, "the lease was lost: this machine is too slow for the test")

    # --- after the cut ---

    def broken(self, found, next_token):
        """Compares the database with the promises: `found` has the state, token and version of each key. Yields texts.
        """
        for key in found.keys() | self.jobs.keys():
            yield from (f"{key}: {what}" for what in self.broken_of(self.jobs[key], found.get(key)))
        if next_token <= max(self.fires, default=0):
            yield f"the token {next_token} comes again"

    def broken_of(self, job, row):
        begun, begun_version = job.begun or (None, None)
        if row is None:
            may_have_ended = begun == "remove" or {job.version, begun_version} & job.done
            if job.version is not None and not may_have_ended:
                yield f"lost: its version {job.version} was put"
            return
        state, token, version = row
        allowed = {job.version, begun_version, job.removed if job.removed in job.done else None} - {None}
        if version not in allowed:
            yield f"version {version} is there, which was removed, replaced or never put"
            return
        answer, answered = self.answers.get(token, (None, 0))
        if self.fires.get(token, (None, None))[1] != version:
            answer = None
        elif answer is None and state != STARTED and self.starts_are_durable:
            yield f"the start of token {token} was lost"
        if answer is not None and (state in (HELD, STARTED) or (answer == DONE and not job.periods[version])):
            self.counts["answers undone"] += 1
            if answered < self.settled:
                yield f"the answer of token {token} was lost, although a later put is there"
        if job.requeued and state == FAILED:
            yield "its requeue was lost"


# --- workloads ------------------------------------------------------------------------------------

class Recorded:
    """A folder whose changes are recorded."""

    def __init__(self, home, options, processes):
        self.home, self.options, self.processes = home, options, processes
        self.folder, self.journal, self.base = home / "disk", home / "journal", None
        self.log = self.folder / "jobs.log"
        self.folder.mkdir()
        self.journal.touch()
        self.journal.chmod(0o666)  # the server is another user
        self.environment = {"LD_PRELOAD": str(options.recorder), "TW_DISK": str(self.folder),
                            "TW_DISK_JOURNAL": str(self.journal)}

    def copy_base(self):
        self.base = self.home / "base"
        subprocess.run(["cp", "-a", self.folder, self.base], check=True)

    def begin(self, *command):
        made = subprocess.Popen(list(map(str, command)), env={**os.environ, **self.environment},
                                preexec_fn=running.die_with_parent)
        self.processes.append(made)
        return made

    def work(self, name, address, seconds, **settings):
        """Runs a worker of this name for so long, and lets it end in good order."""
        settings = {"put": 150, "handle": 1, "attempts": 1, "lease_ms": 30000, "timeout_ms": 20000,
                    "seed": self.options.seed, **settings}
        lines = self.log.read_text().count("\n") if self.log.exists() else 0
        made = self.begin(self.options.worker, address, self.log, name, *(f"{k}={v}" for k, v in settings.items()))
        wait_until(lambda: self.log.exists() and self.log.read_text().count("\n") > lines, "the worker begins")
        time.sleep(seconds)
        made.send_signal(signal.SIGTERM)
        expect(made.wait(timeout=60) == 0, "the worker failed")


# --- cuts -----------------------------------------------------------------------------------------

def cuts_of(recorded, starts_are_durable, chosen, **how):
    """Reads the journal. Yields the disk and the promises at each cut that chosen(number of the write) wants: before
    that write, with all that was promised until then."""
    disk, promises = Disk(recorded.folder, recorded.base, **how), Promises(starts_are_durable)
    log, number, rest = None, 0, b""
    for record in read_journal(recorded.journal):
        if record.what == "c" and record.name == str(recorded.log):
            log = record.inode
        elif record.what == "w" and record.inode == log:
            *lines, rest = (rest + record.data).split(b"\n")
            for line in lines:
                promises.read(line)
        else:
            if chosen(number):
                yield number, disk, promises
            number += 1
            disk.take(record)
    yield number, disk, promises


def choose_cuts(recorded, wanted, chance):
    """Returns the number of writes, and that many of them by chance; half as many are the first after a removal or a
    requeue, as these are rare."""
    rare, before = [], 0
    for number, _, promises in cuts_of(recorded, False, lambda _: True):
        now = promises.counts["removals"] + promises.counts["requeues"]
        if now != before:
            rare.append(number)
        before = now
    expect(number > 100, f"only {number} writes were recorded")
    some = chance.sample(range(number), min(wanted, number)) + chance.sample(rare, min(wanted // 2, len(rare)))
    return number, set(some)


class Checker:
    """Opens what is left after a cut, and compares."""

    def __init__(self, home, options, processes):
        self.place, self.cuts = home / "cut", Counter()
        self.random = random.Random(options.seed)
        self.ask = Asker(options.ask)
        processes.append(self.ask.running)

    def found(self, address):
        """The state, token and version of each key, as Promises.broken takes them. Raises Failed if the database does
        not open."""
        found = {}
        self.ask.do("open", address)
        for line in self.ask.do("jobs")["text"].splitlines():
            key, state, token, _, _, version, *_ = line.split()
            found[key] = (int(state), int(token), int(version))
        self.ask.do("close")
        return found

    def rebuilt(self, disk, choice):
        if self.place.exists():
            shutil.rmtree(self.place)
        if disk.base:
            subprocess.run(["cp", "-a", disk.base, self.place], check=True)
        else:
            self.place.mkdir()
        disk.build(self.place, choice, self.random.random())

    def check(self, number, disk, promises, choice):
        """The broken promises after a cut."""
        self.rebuilt(disk, choice)
        undone = promises.counts["answers undone"]
        try:
            broken = list(self.compare(promises))
        except (Failed, sqlite3.Error) as failed:
            broken = [str(failed)]
        self.cuts[choice] += 1
        self.cuts["with answers undone"] += promises.counts["answers undone"] > undone
        return [f"cut before write {number}, {choice} of what was not synced: {each}" for each in broken]


class SqliteChecker(Checker):
    def __init__(self, *all_of_it, compare_orders):
        super().__init__(*all_of_it)
        self.compare_orders = compare_orders

    def compare(self, promises):
        path = self.place / "jobs.db"
        found = self.found(f"sqlite:{path}")
        with contextlib.closing(sqlite3.connect(path)) as own:
            whole = own.execute("pragma integrity_check").fetchone()[0]
            if whole != "ok":
                yield f"damaged: {whole}"
            token = own.execute("select value from tickwheel_meta where name = 'token'").fetchone()[0]
            has_orders = own.execute("select count(*) from sqlite_master where name = 'orders'").fetchone()[0]
            orders = {what for what, in own.execute("select what from orders")} if has_orders else set()
        yield from promises.broken(found, token + 1)
        yield from self.compare_orders(orders, found, promises)


def check_cuts(title, recorded, checker, wanted, choices, starts_are_durable, **how):
    """Checks that many cuts, with each of the choices. Returns how many broke a promise."""
    begun = time.monotonic()
    writes, chosen = choose_cuts(recorded, wanted, checker.random)
    every = [each for number, disk, promises in cuts_of(recorded, starts_are_durable, chosen.__contains__, **how)
             for choice in choices for each in [checker.check(number, disk, promises, choice)]]
    *_, (_, _, promises) = cuts_of(recorded, starts_are_durable, lambda _: False)
    seconds = time.monotonic() - begun
    print(f"{title}: {writes} writes, {len(every)} cuts in {seconds:.1f} s; {dict(promises.counts)}, "
          f"{dict(checker.cuts)}", flush=True)
    return [each for each in every if each]


def expect_none_broken(broken):
    expect(not broken, f"{len(broken)} cuts broke a promise, for example\n" +
           "\n".join(line for each in broken[:5] for line in each[:5]))


class PostgresChecker(Checker):
    def compare(self, promises):
        """Starts a server on the files, but those that say that one is running. It need not sync: nothing cuts its
        power."""
        for each in (self.place / "pg").glob(".s.PGSQL.*"):
            each.unlink()
        (self.place / "pg/data/postmaster.pid").unlink(missing_ok=True)
        server = running.Server(self.place / "pg")
        server.do("start", *SETTINGS, "fsync=off", "autovacuum=off")
        try:
            found = self.found(server.address())
            token = server.psql("select nextval('tickwheel.token')")
        finally:
            server.kill()
        expect(token, "the server did not answer")
        yield from promises.broken(found, int(token))


# --- the tests ------------------------------------------------------------------------------------

def create_orders(path):
    """A database of an application, with a rollback journal: the library changes that to a write-ahead log. Returns a
    function that checks whether all of it is there."""
    every = {f"{number}: {'x' * 100}" for number in range(500)}
    with contextlib.closing(sqlite3.connect(path)) as own:
        own.execute("create table orders (what text)")
        own.executemany("insert into orders values (?)", [(each,) for each in every])
        own.commit()
    return lambda orders, *_: [] if orders == every else ["orders of the application are lost"]


def compare_joined(orders, found, promises):
    """Each order has its job, and each job its order, unless the job was removed."""
    for key in found.keys() ^ orders:
        job = promises.jobs[key]
        if key not in orders or not (job.begun == ("remove", None) or (job.periods and job.version is None)):
            yield f"{key}: there is only its {'order' if key in orders else 'job'}"


def test_worker(home, options, processes):
    recorded = Recorded(home, options, processes)
    compare_orders = lambda *_: []
    if options.seed % 2:
        compare_orders = create_orders(recorded.folder / "jobs.db")
        recorded.copy_base()
    for name, seconds in {"first": 1.0, "second": 0.5}.items():  # the end of the first deletes the write-ahead log
        recorded.work(name, f"sqlite:{recorded.folder}/jobs.db", seconds)
    checker = SqliteChecker(home, options, processes, compare_orders=compare_orders)
    wanted = options.cuts or (10**9 if running.is_nightly() else 30)
    expect_none_broken(check_cuts("sqlite", recorded, checker, wanted, (NOTHING, EVERYTHING, SOME), False))
    lost = check_cuts("without syncs", recorded, checker, 10, (NOTHING, SOME), False, forgets_syncs=True)
    expect(len(lost) >= 5, "the test does not notice a disk that ignores syncs")


def cuts_of_join(home, options, processes, mode, sync, wanted, choices):
    place = home / f"{mode}-{sync}"
    place.mkdir()
    recorded = Recorded(place, options, processes)
    made = recorded.begin(options.join, recorded.folder / "jobs.db", recorded.log, mode, sync, 20)
    expect(made.wait(timeout=60) == 0, "join failed")
    checker = SqliteChecker(place, options, processes, compare_orders=compare_joined)
    return check_cuts(f"joined, journal mode {mode}, synchronous {sync}", recorded, checker, wanted, choices, False)


def test_sqlite(*all_of_it):
    test_worker(*all_of_it)
    wanted = 10**9 if running.is_nightly() else 12
    for mode, sync in ("wal", "full"), ("delete", "extra"):
        expect_none_broken(cuts_of_join(*all_of_it, mode, sync, wanted, (NOTHING, SOME)))
    expect(cuts_of_join(*all_of_it, "delete", "full", 40, (NOTHING,)),
           "with a rollback journal, synchronous = full is enough: change what durable_sqlite.h says")


# A small memory and log, so that the server also writes tables, makes checkpoints, and uses files of the log again.
SETTINGS = ("shared_buffers=1MB", "min_wal_size=2MB", "max_wal_size=2MB", "bgwriter_delay=10ms",
            "wal_writer_delay=10ms", "autovacuum_naptime=1s")


def test_postgres(home, options, processes):
    recorded = Recorded(home, options, processes)
    # Checksums, so that the server notices pages that are there in part.
    files = recorded.folder / "pg"
    running.Server(files, options=["--wal-segsize=1", "--data-checksums"])
    recorded.copy_base()
    with running.running_server(files, *SETTINGS, environment=recorded.environment) as server:
        recorded.work("worker", server.address(), 1, padding=1500)
        wait_until(lambda: server.psql("select pg_current_wal_insert_lsn() = pg_current_wal_flush_lsn()") == "t",
                   "the server writes the last answers by itself")
        server.kill()
    checker = PostgresChecker(home, options, processes)
    wanted = options.cuts or (100 if running.is_nightly() else 3)
    expect_none_broken(check_cuts("postgres", recorded, checker, wanted, (NOTHING, SOME), True))
    print("on a disk that ignores syncs, where the server may not even start:", flush=True)
    lost = check_cuts("without syncs", recorded, checker, 1, (SOME,), True, forgets_syncs=True)
    expect(lost, "the test does not notice a disk that ignores syncs")


def test(options):
    print(f"seed {options.seed}", flush=True)
    with running.folder(running.fast_place()) as home, running.ended_at_last() as processes:
        try:
            {"sqlite": test_sqlite, "postgres": test_postgres}[options.kind](home, options, processes)
        finally:
            if options.keep:
                shutil.copytree(home, options.keep, dirs_exist_ok=True)


if __name__ == "__main__":
    given = running.parse_arguments("recorder", "worker", "ask", kind=dict(choices=["postgres", "sqlite"]),
                                    join=dict(type=Path, nargs="?", help="with sqlite"), seed=running.any_seed(),
                                    cuts=dict(type=int, default=None, help="how many"),
                                    keep=dict(default=None, help="a folder for the files"))
    running.main(lambda: test(given))
