"""For tests with several processes: programs, servers and folders, which all end with the test, even if it fails.

running.py sqlite|postgres COMMAND...: runs the command with one more argument, the address of a new database. Ends with
77 if PostgreSQL is not installed.
"""
import argparse
import contextlib
import ctypes
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

POSTGRES = Path(__file__).resolve().parents[3] / "tests/support/postgres.sh"
SKIPPED = 77


class Failed(Exception):
    pass


def is_nightly():
    return bool(os.environ.get("TW_NIGHTLY"))


def expect(is_so, what):
    if not is_so:
        raise Failed(what)


def wait_until(is_so, what, seconds=60):
    """Polls for a condition. The deadline is long: it must end a test that hangs, not one that is slow."""
    until = time.monotonic() + seconds
    while True:
        found = is_so()
        if found:
            return found
        expect(time.monotonic() < until, f"not within {seconds} s: {what}")
        time.sleep(0.02)


def boot_now():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


def fast_place():
    """In memory if there is room. SQLite waits for the disk at each commit, which no test needs."""
    with contextlib.suppress(OSError):
        if shutil.disk_usage("/dev/shm").free > 5 * 10**8:
            return "/dev/shm"
    return "/tmp"


@contextlib.contextmanager
def folder(place="/tmp"):
    """A folder with a short name, because the path of a socket must be short."""
    made = Path(tempfile.mkdtemp(prefix="tw-", dir=place))
    made.chmod(0o755)
    try:
        yield made
    finally:
        shutil.rmtree(made, ignore_errors=True)


class Session:
    """A psql that stays: on a busy machine, to begin one takes half a second."""

    END = "end of the script"

    def __init__(self, *command):
        pipe = subprocess.PIPE
        self.running = subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)

    def run(self, text):
        """Returns what the script prints, or None if it fails, which ends the session."""
        with contextlib.suppress(BrokenPipeError):
            print(text, f";discard all;select '{self.END}';", sep="\n", file=self.running.stdin, flush=True)
        lines = []
        for line in self.running.stdout:
            if line == self.END + "\n":
                return "".join(lines).strip()
            lines.append(line)
        self.running.wait()
        return None

    def end(self):
        with contextlib.suppress(BrokenPipeError):
            self.running.stdin.close()
        self.running.stdout.close()
        self.running.wait()


class Server:
    """A PostgreSQL server for one test. Its folder may exist: then it has the server's files. A standby
    is made from the server at the address `follows`, and follows it by the address `by`."""

    def __init__(self, home, *settings, options=(), environment=None, follows=None, by=None):
        self.folder, self.settings, self.environment = home, settings, {**os.environ, **(environment or {})}
        self.sessions = []  # that no thread uses
        if follows:
            self.do("copy", follows)
            with (home / "data/postgresql.auto.conf").open("a") as file:
                file.write(f"primary_conninfo = '{by}'\n")
        elif not home.exists():
            self.do("init", *options)

    def do(self, verb, *settings):
        while self.sessions:
            self.sessions.pop().end()
        done = subprocess.run([POSTGRES, verb, self.folder, *settings], stdout=subprocess.PIPE, text=True, timeout=120,
                              env=self.environment)
        if done.returncode == 3:
            sys.exit(SKIPPED)
        expect(done.returncode == 0, f"postgres.sh {verb} failed")
        return done.stdout.strip()

    def start(self, *more):
        """Retries: a process of a killed server may linger for a moment, and a new server then refuses to start."""
        for left in reversed(range(10)):
            try:
                self.do("start", *self.settings, *more)
                return
            except Failed:
                if left == 0:
                    raise
            time.sleep(0.5)

    def stop(self):
        self.do("stop")

    def kill(self):
        self.do("kill")

    def is_running(self):
        try:
            os.kill(int((self.folder / "data/postmaster.pid").read_text().split()[0]), 0)
            return True
        except (OSError, ValueError, IndexError):
            return False

    def address(self, **parts):
        every = {"host": self.folder, "user": "postgres", **parts}
        return "postgresql:///postgres?" + "&".join(f"{name}={value}" for name, value in every.items())

    def socket(self):
        return str(self.folder / ".s.PGSQL.5432")

    def psql(self, text, database="postgres"):
        """Runs statements as one script, and returns what they print; None if they fail."""
        session, may_stay = None, database == "postgres"
        with contextlib.suppress(IndexError):
            session = self.sessions.pop() if may_stay else None
        session = session or Session("psql", "-XqtA", "-v", "ON_ERROR_STOP=1", "-h", self.folder, "-U", "postgres",
                                     database)
        said = session.run(text)
        if said is not None and may_stay:
            self.sessions.append(session)
        else:
            session.end()
        return said


@contextlib.contextmanager
def running_server(home, *settings, **more):
    made = Server(home, *settings, **more)
    try:
        made.start()
        yield made
    finally:
        if (home / "data/postmaster.pid").exists():
            subprocess.run([POSTGRES, "stop", home], stderr=subprocess.DEVNULL)


@contextlib.contextmanager
def server(*settings):
    with folder() as home, running_server(home / "pg", *settings) as made:
        yield made


@contextlib.contextmanager
def ended_at_last():
    """A list of processes, all of which end with the test."""
    processes = []
    try:
        yield processes
    finally:
        for each in processes:
            if each.poll() is None:
                each.kill()
                each.wait()


def die_with_parent():
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)


def parse_arguments(*paths, **others):
    """Parses the command line of a test: paths, and further arguments with the settings that argparse takes. Those with
    a default are options."""
    parser = argparse.ArgumentParser()
    for name in paths:
        parser.add_argument(name, type=Path)
    for name, settings in others.items():
        parser.add_argument(f"--{name}" if "default" in settings else name, **settings)
    return parser.parse_args()


def any_seed():
    """The settings of an argument --seed, which is chosen at random unless it is given."""
    return {"type": int, "default": random.SystemRandom().randrange(10**9)}


def main(test):
    """Runs a test, which raises Failed if it fails. SIGTERM ends the test by an exception, so that it cleans up."""
    def end(*_):
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # a second signal would interrupt the cleaning up
        sys.exit(143)

    signal.signal(signal.SIGTERM, end)
    try:
        test()
    except Failed as failed:
        sys.exit(f"failed: {failed}")


def run_with_database(kind, *command):
    with folder(fast_place()) if kind == "sqlite" else server("fsync=off") as made:
        address = f"sqlite:{made}/jobs.db" if kind == "sqlite" else made.address()
        expect(subprocess.run([*command, address]).returncode == 0, "see above")


if __name__ == "__main__":
    main(lambda: run_with_database(*sys.argv[1:]))
