"""The tests of a build: their list, from ctest, and how to run one."""

import glob
import json
import os
import re
import select
import signal
import subprocess
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

from failure import Failure

PASSED, FAILED, SKIPPED, STOPPED = "passes", "fails", "is skipped", "is stopped"
LOOPS, HANGS = "loops", "hangs"  # ended after using too much processor time, or after doing nothing
MOST_OUTPUT = 1 << 20
ADD_TEST = re.compile(r"(?m)^add_test\((?:\[=*\[)?(.+?)(?:\]=*\])? (\".*)\)$")


@dataclass(eq=False)
class Test:
    name: str
    command: list
    folder: str
    labels: set
    environment: dict
    properties: dict
    # As measured without a mutant:
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    waits: int = 0  # voluntary context switches
    reached: set = field(default_factory=set)  # numbers of mutants
    runs: int = 0  # with mutants
    catches: int = 0

    @property
    def seconds_for_a_catch(self):
        """Estimated cost of catching a mutant. Before the first run with a mutant this is the cost of one
        run."""
        return self.cost * (self.runs + 1) / (self.catches + 1)

    @property
    def sleeps(self):
        """True if the test sleeps or its threads wait for each other: then it may fail because the machine is busy."""
        return self.waits > 20

    @property
    def cost(self):
        """Seconds of one run: by the clock if the test sleeps; else of the processor, whatever other programs do."""
        return max(self.seconds if self.sleeps else self.cpu_seconds, 0.005)


@dataclass
class Result:
    verdict: str
    seconds: float = 0.0
    cpu_seconds: float = 0.0
    waits: int = 0


def read_tests(build_dir):
    listed = subprocess.run(
        ["ctest", "--show-only=json-v1"], cwd=build_dir, capture_output=True, text=True, check=False
    )
    if listed.returncode != 0:
        raise Failure(f"ctest cannot list the tests of {build_dir}:\n{listed.stderr}")
    tests = []
    for each in json.loads(listed.stdout)["tests"]:
        properties = {entry["name"]: entry["value"] for entry in each.get("properties", [])}
        if properties.get("DISABLED"):
            continue
        tests.append(
            Test(
                name=each["name"],
                command=each.get("command", []),  # none: its program is not built
                folder=properties.get("WORKING_DIRECTORY", str(build_dir)),
                labels=set(properties.get("LABELS", [])),
                environment=dict(entry.split("=", 1) for entry in properties.get("ENVIRONMENT", [])),
                properties=properties,
            )
        )
    return tests


def targets_of(tests, build_dir):
    """The targets that ninja must build for the tests: those that the tests' commands name. This reads the
    files that CMake writes for ctest, because ctest does not list the commands of programs that are not built
    yet."""
    known = subprocess.run(
        ["ninja", "-C", str(build_dir), "-t", "targets", "all"], capture_output=True, text=True, check=True
    )
    names = {line.split(":")[0] for line in known.stdout.splitlines()}
    wanted = {test.name for test in tests}
    targets = set()
    for listed in build_dir.rglob("CTestTestfile.cmake"):
        for name, words in ADD_TEST.findall(listed.read_text()):
            if name in wanted:
                paths = [word for word in re.findall(r'"([^"]*)"', words) if "/" in word]
                targets |= {os.path.relpath(path, build_dir) for path in paths}
    return sorted(targets & names)


class Runner:
    """Runs tests one after the other. Each thread has a Runner."""

    def __init__(self, environment):
        self.environment = environment
        self.process = None

    def run(self, test, environment, cpu_limit=None, limit=None):
        with tempfile.TemporaryDirectory(prefix="mutate-", ignore_cleanup_errors=True) as folder:
            return self.run_in(folder, test, environment, cpu_limit, limit)

    def run_in(self, folder, test, environment, cpu_limit, limit):
        patterns = [name for name in test.properties if name.endswith("_REGULAR_EXPRESSION")]
        with tempfile.TemporaryFile() as output:
            limits = ["prlimit", "--core=0", *([f"--cpu={cpu_limit}:{cpu_limit + 1}"] if cpu_limit else [])]
            begin = time.monotonic()
            self.process = subprocess.Popen(
                [*limits, *test.command],
                cwd=test.folder,
                env={**self.environment, **test.environment, **environment, "TMPDIR": folder},
                stdin=subprocess.DEVNULL,
                stdout=output if patterns else subprocess.DEVNULL,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            is_late = not self.wait(limit)
            seconds = time.monotonic() - begin
            status, usage = self.end()
            cpu_seconds = usage.ru_utime + usage.ru_stime
            if is_late or status == -signal.SIGXCPU:
                return Result(HANGS if is_late else LOOPS, seconds, cpu_seconds, usage.ru_nvcsw)
            text = ""
            if patterns:
                output.seek(0)
                text = output.read(MOST_OUTPUT).decode(errors="replace")
            outcome = verdict(test.properties, status, text)
            return Result(outcome, seconds, cpu_seconds, usage.ru_nvcsw)

    def wait(self, limit):
        """Returns false if the test has not ended within the limit. While the test has runnable threads, which other
        programs may keep from running, it gets up to ten times the limit."""
        handle = os.pidfd_open(self.process.pid)
        try:
            poll = select.poll()
            poll.register(handle, select.POLLIN)
            if limit is None or poll.poll(limit * 1000):
                poll.poll()
                return True
            end = time.monotonic() + 9 * limit
            while self.would_run() and time.monotonic() < end:
                if poll.poll(1000):
                    return True
            return bool(poll.poll(0))
        finally:
            os.close(handle)

    def would_run(self):
        """True if in most of ten looks a thread of the test runs or waits for a processor."""
        looks = 0
        for _ in range(10):
            looks += self.has_runnable_thread()
            time.sleep(0.05)
        return looks > 5

    def has_runnable_thread(self):
        for path in glob.glob("/proc/[0-9]*/task/[0-9]*/stat"):
            try:
                state, _, _, session = Path(path).read_text().rpartition(")")[2].split()[:4]
            except (OSError, ValueError):
                continue  # it has ended
            if int(session) == self.process.pid and state in "RD":
                return True
        return False

    def end(self):
        """Ends the remaining processes of the test. Returns its status and its use of the processor."""
        self.stop()
        _, status, usage = os.wait4(self.process.pid, 0)
        self.process.returncode = os.waitstatus_to_exitcode(status)
        return self.process.returncode, usage

    def stop(self):
        try:
            os.killpg(self.process.pid, signal.SIGKILL)
        except (ProcessLookupError, PermissionError):
            pass


def verdict(properties, status, text):
    """ctest's verdict about a test that has ended."""

    def found(name):
        return any(re.search(pattern, text) for pattern in properties.get(name, []))

    if "SKIP_RETURN_CODE" in properties and status == int(properties["SKIP_RETURN_CODE"]):
        return SKIPPED
    if found("SKIP_REGULAR_EXPRESSION"):
        return SKIPPED
    if "PASS_REGULAR_EXPRESSION" in properties:
        passed = found("PASS_REGULAR_EXPRESSION")
    else:
        passed = status == 0
    passed = passed and not found("FAIL_REGULAR_EXPRESSION")
    if properties.get("WILL_FAIL"):
        passed = not passed
    return PASSED if passed else FAILED
