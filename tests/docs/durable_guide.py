"""durable_guide.py GUIDE SERVICE ITS_TEST CPP_SERVICE TICKWHEEL_JOBS: runs what durable/docs/GUIDE.md shows: the test
on virtual time, three processes that restart one after the other while jobs fire, the health check and the unit.
"""
import contextlib
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "durable/tests/processes"))
from running import expect, fast_place, folder, wait_until  # noqa: E402

ORDERS = 30


def block(guide, name):
    found = re.search(rf"^```\w+ {re.escape(name)}\n(.*?)^```$", guide, re.S | re.M)
    expect(found, f"the guide has no {name}")
    return found[1]


class Service:
    """A process whose output is a file."""

    def __init__(self, log, *command):
        self.log = log
        with log.open("ab") as out:
            self.process = subprocess.Popen(command, stdout=out)

    def lines(self):
        return self.log.read_text("utf-8").splitlines()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        expect(self.process.wait(60) == 0, f"{self.process.args} ended with {self.process.returncode}")


def roll(home, service, jobs):
    """Orders become due while each process is stopped and started again. None is lost, none is reminded twice, and none
    waits for the lease of a stopped process, which lasts for 15 s."""
    with contextlib.ExitStack() as stack:
        processes = []
        for number in range(3):
            processes.append(Service(home / f"log{number}", service, "serve"))
            stack.callback(lambda number=number: processes[number].process.kill())
        for order in range(ORDERS):
            subprocess.run([jobs, "put", "unpaid", str(order), "--in", f"{500 + order * 80}ms"], check=True)
        begun = time.monotonic()
        for number in range(3):
            processes[number].stop()
            processes[number] = Service(home / f"log{number}", service, "serve")
        reminded = lambda: sorted(line.split()[1] for each in processes for line in each.lines())
        wait_until(lambda: len(reminded()) >= ORDERS, "all orders are reminded")
        expect(time.monotonic() - begun < 14, "the others take over at once")
        for each in processes:
            each.stop()
        expect(reminded() == sorted(map(str, range(ORDERS))), f"reminded of {reminded()}")


def place(service, jobs):
    count = lambda: int(subprocess.run([jobs, "count"], check=True, capture_output=True, text=True).stdout)
    for words, left in (("placed 17", 1), ("placed 17", 1), ("placed 18", 2),
                        ("paid 17", 1), ("paid 17", 1), ("paid 18", 0)):
        subprocess.run([service, *words.split()], check=True)
        expect(count() == left, f"{count()} jobs after {words}")
    expect(subprocess.run([service, "serves"], stderr=subprocess.DEVNULL).returncode == 2, "a wrong command is refused")


def try_cpp(home, service):
    process = Service(home / "cpp", service)
    try:
        wait_until(lambda: process.lines() == ["order 17: 250 cents are unpaid"], "the coroutine has ended")
        process.stop()
    finally:
        process.process.kill()


def check_health(home, script, jobs):
    (home / "bin").mkdir()
    (home / "bin/tickwheel-jobs").symlink_to(jobs)
    path = f"{home}/bin:{os.environ['PATH']}"

    def health(**changes):
        return subprocess.run(["sh", "-c", script], env={**os.environ, "PATH": path, **changes},
                              stderr=subprocess.DEVNULL).returncode

    expect(health() == 0, "all is well")
    expect(health(TICKWHEEL_DATABASE="sqlite:/nowhere/orders.db") == 2, "a database that does not answer is noticed")
    subprocess.run([jobs, "put", "unpaid", "17", "--at", "2020-01-01T00:00:00Z"], check=True)
    expect(health() == 1, "a late job is noticed")
    subprocess.run([jobs, "put", "unpaid", "17"], check=True)
    expect(health() == 0, "a job that has just become due is well")
    with contextlib.closing(sqlite3.connect(home / "orders.db")) as database, database:
        database.execute("update tickwheel_job set failed = 1")
    expect(health() == 1, "a failed job is noticed")


def check_unit(home, unit, service):
    if not shutil.which("systemd-analyze"):
        print("systemd-analyze is not installed: the unit is not checked")
        return
    path = home / "reminders@.service"
    path.write_text(unit.replace("/usr/local/bin/reminders", service), "utf-8")
    (home / "reminders@1.service").symlink_to(path)
    done = subprocess.run(["systemd-analyze", "verify", home / "reminders@1.service"], capture_output=True, text=True)
    expect("reminders@" not in done.stderr, done.stderr)


def main():
    page, service, its_test, cpp_service, jobs = sys.argv[1:]
    guide = Path(page).read_text("utf-8")
    subprocess.run([its_test], check=True)
    with folder(fast_place()) as home:
        os.environ["TICKWHEEL_DATABASE"] = f"sqlite:{home}/orders.db"
        place(service, jobs)
        roll(home, service, jobs)
        check_health(home, block(guide, "health.sh"), jobs)
        os.environ["TICKWHEEL_DATABASE"] = f"sqlite:{home}/other.db"
        try_cpp(home, cpp_service)
        check_unit(home, block(guide, "reminders@.service"), service)


main()
