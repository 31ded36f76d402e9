"""crash.py WORKER postgres|sqlite [--seconds N] [--seed N] [--rate N]: jobs survive the trouble of their processes.

Trouble goes on for 4 s, or with TW_NIGHTLY=1 for 25 s, and in any case until every kind of it has happened at least
once: in real time, as the servers and the leases need it. So the short form tests each kind of trouble; the long form
tests them in many orders.

Three workers and a putter run WORKER (worker.cpp), and write logs. Meanwhile this program kills and stops them; and,
with PostgreSQL, it kills and restarts the server, cuts, stalls and slows connections, fills the disk, and sets the
workers' clocks wrong. Then all recover, and history.py compares the logs with the promises of durable.h.
"""
import contextlib
import heapq
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import running
from history import History, Trouble
from proxy import HOLE, PASS, SLOW, Proxy
from running import Failed, boot_now, expect, wait_until

LEASE_S = 1
LIBFAKETIME = next(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"), None)

# Minutes off, on the wall clock alone. libfaketime cannot simulate a clock with a wrong rate here: it does not change
# the system calls by which the runtime waits, so a wait would not end at the time that the faked clock shows.
WRONG_CLOCKS = ["-7m", "+12m"]


class Process:
    """A worker. After its end it can begin again, with a new log each time."""

    def __init__(self, world, name, settings):
        self.world, self.name = world, name
        self.settings = [f"{key}={value}" for key, value in settings.items()]
        self.proxy = world.proxy()
        self.number, self.running, self.is_stopped = 0, None, False

    def begin(self, environment=None):
        self.number += 1
        self.is_stopped = False
        address = self.proxy.address() if self.proxy else self.world.address
        self.world.begun += 1
        own = f"seed={self.world.random.randrange(10**9)}", f"keep={self.world.begun}"
        self.running = subprocess.Popen(
            [self.world.program, address, self.log(), self.title(), *own, *self.settings],
            env={**os.environ, **(environment or {})}, preexec_fn=running.die_with_parent)
        self.world.processes.append(self.running)

    def title(self):
        return f"{self.name}-{self.number}"

    def log(self):
        return self.world.home / f"{self.title()}.log"

    def lines(self):
        return self.log().read_text().splitlines() if self.log().exists() else []

    def signal(self, number):
        self.running.send_signal(number)

    def kill(self):
        at = boot_now()
        self.running.kill()
        self.running.wait()
        self.world.note("killed", at, boot_now(), self.title())

    def end(self):
        self.running.send_signal(signal.SIGTERM)
        code = self.running.wait(timeout=60)
        expect(code == 0, f"{self.title()} ended with {code}")


class World:
    """The processes, the objects that they share, and the trouble."""

    def __init__(self, options, home, processes, server):
        self.program, self.home, self.processes, self.server = options.worker, home, processes, server
        self.random = random.Random(options.seed)
        self.address = server.address() if server else f"sqlite:{home}/jobs.db"
        self.proxies, self.history, self.counts, self.begun = [], History(), Counter(), 0
        self.later = []  # a heap of the trouble that must end: time, number, the function that ends it
        self.members = [Process(self, f"worker{i}", {"handle": 1, "horizon_ms": horizon})
                        for i, horizon in enumerate((0, 200, 1000))]
        # The putter may handle jobs as well: then its puts claim their jobs.
        self.members.append(Process(self, "putter", {"put": options.rate, "handle": options.seed % 2,
                                                     "padding": 1500 if server else 100}))

    def proxy(self):
        if self.server is None:
            return None
        self.proxies.append(Proxy(self.server.socket()))
        return self.proxies[-1]

    def note(self, what, begun, ended, process=None):
        self.counts[what] += 1
        self.history.troubles.append(Trouble(what, begun, ended, process))

    def after(self, seconds, act):
        heapq.heappush(self.later, (time.monotonic() + seconds, len(self.history.troubles), id(act), act))

    def let_end(self, all_of_them=False):
        while self.later and (all_of_them or self.later[0][0] <= time.monotonic()):
            heapq.heappop(self.later)[3]()

    def check_alive(self):
        for each in self.members:
            code = each.running.poll()
            expect(code is None, f"{each.title()} has ended with {code}")

    # --- trouble ---

    def kill(self):
        whom = self.random.choice(self.members)
        whom.kill()
        wrong = {}
        if self.server and LIBFAKETIME and self.random.random() < 0.3:
            wrong = {"LD_PRELOAD": str(LIBFAKETIME), "FAKETIME_DONT_FAKE_MONOTONIC": "1",
                     "FAKETIME": self.random.choice(WRONG_CLOCKS)}
            self.counts["wrong clock"] += 1
        whom.begin(wrong)

    def stop(self):
        whom = self.random.choice(self.members)
        if whom.is_stopped:
            return
        number, begun = whom.number, boot_now()
        whom.is_stopped = True
        whom.signal(signal.SIGSTOP)

        def go_on():
            if whom.number == number:
                whom.signal(signal.SIGCONT)
                whom.is_stopped = False
            self.note("stopped", begun, boot_now(), f"{whom.name}-{number}")

        self.after(LEASE_S * self.random.uniform(1.1, 2.2), go_on)

    def restart(self, how, what):
        begun = boot_now()
        how()
        self.make_room()  # the server cannot recover on a full disk
        time.sleep(self.random.choice([0, 0, 0.5, 1]))
        self.server.start()
        self.note(what, begun, boot_now())

    def restart_server(self):
        self.restart(self.server.stop, "server restarted")

    def kill_server(self):
        self.restart(self.server.kill, "server killed")

    def some_proxies(self):
        return self.proxies if self.random.random() < 0.4 else [self.random.choice(self.proxies)]

    def cut(self):
        begun = boot_now()
        for each in self.some_proxies():
            each.cut()
        self.note("cut", begun, boot_now())

    def hinder(self, mode, what, seconds, cuts):
        begun, them = boot_now(), self.some_proxies()
        for each in them:
            each.mode = mode

        def go_on():
            for each in them:
                if cuts:
                    each.cut()
                each.mode = PASS
            self.note(what, begun, boot_now())

        self.after(seconds, go_on)

    def black_hole(self):
        self.hinder(HOLE, "stalled", self.random.uniform(0.5, 1.5), self.random.random() < 0.5)

    def slow(self):
        self.hinder(SLOW, "slow", self.random.uniform(0.5, 1.5), False)

    def fill_disk(self):
        begun = boot_now()
        with contextlib.suppress(OSError), (self.home / "small/filler").open("wb", buffering=0) as file:
            while True:
                file.write(bytes(65536))

        def go_on():
            self.make_room()
            self.note("disk full", begun, boot_now())

        self.after(self.random.uniform(0.5, 1), go_on)

    def make_room(self):
        (self.home / "small/filler").unlink(missing_ok=True)

    def kinds_of_trouble(self):
        kinds = {self.kill: 50, self.stop: 12}
        if self.server:
            kinds |= {self.restart_server: 3, self.kill_server: 3, self.cut: 10, self.black_hole: 6, self.slow: 5}
            if (self.home / "small").is_mount():
                kinds[self.fill_disk] = 3
        return kinds

    # --- the run ---

    def run(self, seconds):
        for each in self.members:
            each.begin()
        time.sleep(0.5)  # without trouble no job may fire twice
        kinds = self.kinds_of_trouble()
        first = self.random.sample(list(kinds), len(kinds))
        until = time.monotonic() + seconds
        while time.monotonic() < until or first:
            act = first.pop() if first else self.random.choices(list(kinds), list(kinds.values()))[0]
            act()
            pause = time.monotonic() + self.random.uniform(0, 0.5)
            while time.monotonic() < pause:
                self.let_end()
                time.sleep(0.01)
            self.check_alive()

    def recover(self):
        self.let_end(all_of_them=True)
        if self.server and not self.server.is_running():
            self.server.start()
        self.check_alive()

    def drain(self):
        for each in self.members:  # one may have begun just now; it handles no signal before it has its log
            wait_until(each.log().exists, f"{each.title()} begins")
        putter = self.members[-1]
        putter.signal(signal.SIGUSR1)
        wait_until(lambda: '"quiet"' in putter.log().read_text(), "the putter ends", 120)
        drain = Process(self, "drain", {"drain": 1})
        self.members.append(drain)
        drain.begin()
        try:
            wait_until(lambda: drain.running.poll() is not None, "all jobs have fired", 120)
        except Failed as failed:
            raise Failed(f"{failed}; {drain.lines()[-1:]}") from failed
        self.members.remove(drain)
        for each in self.members:
            each.end()

    def judge(self):
        for path in self.home.glob("*.log"):
            self.history.read(path.stem, path.read_text().splitlines())
        return self.history.check()


@contextlib.contextmanager
def small_disk(home):
    """A small file system for the tables, which can be filled; None without the right to mount one."""
    place = home / "small"
    place.mkdir()
    made = os.getuid() == 0 and subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64m", "tmpfs", place],
                                               stderr=subprocess.DEVNULL).returncode == 0
    if not made:
        print("skipped: the full disk, which needs the right to mount")
    try:
        yield place if made else None
    finally:
        if made:
            subprocess.run(["umount", "--lazy", place])


@contextlib.contextmanager
def database(kind, home):
    if kind == "sqlite":
        yield None
        return
    # fsync is off: the test cuts no power, and a busy disk would only make it slower.
    with small_disk(home) as place, running.server("fsync=off", "log_min_messages=fatal") as server:
        if place:
            shutil.chown(place, server.folder.owner(), server.folder.group())
            made = server.psql(f"create tablespace small location '{place}'; "
                               "alter role postgres set default_tablespace = small")
            expect(made is not None, "there is no tablespace")
        if not LIBFAKETIME:
            print("skipped: wrong clocks, which need the package faketime")
        yield server


def print_table(title, counts):
    print(title + ": " + (", ".join(f"{count} {what}" for what, count in sorted(counts.items())) or "none"))


def test(options):
    print(f"seed {options.seed}", flush=True)
    with running.folder() as home, database(options.kind, home) as server, running.ended_at_last() as processes:
        world = World(options, home, processes, server)
        try:
            world.run(options.seconds)
            world.recover()
            world.drain()
            repeats = world.judge()
        finally:
            print_table("what happened", world.counts)
            if options.keep:
                shutil.copytree(home, options.keep, ignore=shutil.ignore_patterns("pg", "small", "*.db*"))
        fires = sum(map(len, world.history.fires.values()))
        print_table("calls", world.history.results)
        print(f"{len(world.history.acts)} jobs, {fires} fires")
        print_table("fired again because of", repeats)


if __name__ == "__main__":
    given = running.parse_arguments("worker", kind=dict(choices=["postgres", "sqlite"]),
                                    seconds=dict(type=float, default=25 if running.is_nightly() else 4),
                                    seed=running.any_seed(), rate=dict(type=int, default=200),
                                    keep=dict(default=None, help="a folder for the logs"))
    running.main(lambda: test(given))
    sys.exit(0)
