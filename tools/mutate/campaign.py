"""Runs tests: without mutants, to see which mutants each test reaches, and then with one mutant after the
other."""

import dataclasses
import json
import math
import os
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor, as_completed

from mutated import MOST_MUTANTS
from suite import FAILED, HANGS, LOOPS, PASSED, STOPPED, Result, Runner

CONTROL_RUNS = 3
CAUGHT, SURVIVED, UNREACHED = "caught", "survived", "not reached"


class Journal:
    """The results so far, one line of JSON for each, so that an interrupted run can continue."""

    def __init__(self, path):
        self.path = path
        self.facts = {}
        self.lock = threading.Lock()
        if path.exists():
            for line in path.read_text().splitlines():
                try:
                    key, value = json.loads(line)
                except ValueError:
                    continue  # the line that an interrupted run did not finish
                self.facts[key] = value
        path.parent.mkdir(parents=True, exist_ok=True)
        self.file = path.open("a")

    def get(self, key):
        return self.facts.get(key)

    def forget(self, key):
        self.facts.pop(key, None)

    def put(self, key, value):
        with self.lock:
            self.facts[key] = value
            self.file.write(json.dumps([key, value]) + "\n")
            self.file.flush()


class Campaign:
    def __init__(self, tests, journal, work, options, progress):
        self.tests = tests
        self.journal = journal
        self.work = work
        self.jobs = options.jobs
        self.budget = options.budget  # seconds of tests for a mutant
        self.is_matrix = options.matrix is not None  # all tests run, even after one has failed
        self.progress = progress
        self.environment = {key: value for key, value in os.environ.items() if not key.startswith("TW_MUTANT")}
        self.runners = {}  # by thread
        self.catchers = defaultdict(list)  # by function: tests that have caught one of its mutants, the last one first
        self.is_stopped = False
        self.serial = threading.Lock()  # held by tests that ctest runs alone

    # --- in parallel ---------------------------------------------------------------------

    def for_each(self, items, work):
        """Calls work(item) in several threads; yields pairs of an item and its result as they come. Ctrl-C
        ends the running tests."""
        with ThreadPoolExecutor(self.jobs) as pool:
            futures = {pool.submit(self.unless_stopped, work, item): item for item in items}
            try:
                for future in as_completed(futures):
                    yield futures[future], future.result()
            except BaseException:
                self.is_stopped = True
                for future in futures:
                    future.cancel()
                for runner in list(self.runners.values()):
                    if runner.process is not None and runner.process.returncode is None:
                        runner.stop()
                raise

    def unless_stopped(self, work, item):
        return None if self.is_stopped else work(item)

    def run(self, test, environment, cpu_limit=None, limit=None):
        if self.is_stopped:
            return Result(STOPPED)
        runner = self.runners.setdefault(threading.get_ident(), Runner(self.environment))
        if not test.properties.get("RUN_SERIAL"):
            return runner.run(test, environment, cpu_limit, limit)
        with self.serial:
            return runner.run(test, environment, cpu_limit, limit)

    # --- without mutants -----------------------------------------------------------------

    def record(self):
        """Runs each test once, and keeps the tests that pass, with the mutants that they reach and their
        times. Returns the names of the other tests."""
        left_out = []
        for count, (test, result) in enumerate(self.for_each(self.tests, self.record_one), 1):
            self.progress(f"recording what tests reach: {count} of {len(self.tests)}")
            if result["verdict"] != PASSED:
                left_out.append(f"{test.name} ({result['verdict']})")
                continue
            test.seconds = result["seconds"]
            test.cpu_seconds = result["cpu_seconds"]
            test.waits = result["waits"]
            test.reached = set(result["reached"])
        names = {name.split(" ")[0] for name in left_out}
        self.tests = sorted((test for test in self.tests if test.name not in names), key=lambda test: test.cost)
        return left_out

    def record_one(self, test):
        key = f"test {test.name}"
        known = self.journal.get(key)
        if known is not None:
            return known
        path = self.work / f"reached-{threading.get_ident()}"
        path.write_bytes(bytes(MOST_MUTANTS))
        limit = float(test.properties.get("TIMEOUT", 1500))
        result = self.run(test, {"TW_MUTANT_RECORD": str(path)}, limit=limit)
        if self.is_stopped:
            return {"verdict": "stopped"}
        reached = [number for number, byte in enumerate(path.read_bytes()) if byte != 0]
        path.unlink()
        fact = {**dataclasses.asdict(result), "reached": reached}
        self.journal.put(key, fact)
        return fact

    # --- with one mutant -----------------------------------------------------------------

    def judge(self, mutants):
        """Yields pairs of a mutant and its fate."""
        begin = time.monotonic()
        caught = fresh = 0
        for count, (mutant, fate) in enumerate(self.for_each(mutants, self.judge_one), 1):
            if fate is None:
                continue
            caught += fate["result"] == CAUGHT
            fresh += 1
            left = (time.monotonic() - begin) / fresh * (len(mutants) - count)
            percent = 100 * caught // count
            self.progress(f"{count} of {len(mutants)} mutants, {percent} % caught, {duration(left)} to go")
            yield mutant, fate

    def judge_without(self, names, fates):
        """Leaves these tests out, and judges the mutants again that they caught. Returns all fates."""
        self.tests = [test for test in self.tests if test.name not in names]
        self.catchers.clear()
        doubtful = [mutant for mutant, fate in fates if {name for name, _ in fate["killers"]} & set(names)]
        for mutant in doubtful:
            self.journal.forget(self.key_of(mutant))
        known = [(mutant, fate) for mutant, fate in fates if mutant not in doubtful]
        return known + list(self.judge(doubtful))

    def key_of(self, mutant):
        return f"matrix {mutant.number}" if self.is_matrix else f"mutant {mutant.number} {self.budget:g}"

    def judge_one(self, mutant):
        key = self.key_of(mutant)
        known = self.journal.get(key)
        if known is not None:
            return known
        reaching = [test for test in self.tests if mutant.number in test.reached]
        killers = []
        left = self.budget
        is_cut = False
        for test in self.in_order(mutant, reaching):
            if not self.is_matrix and test.cost > left:
                is_cut = True
                continue
            left -= test.cost
            test.runs += 1
            verdict = self.verdict_with(mutant, test)
            if self.is_stopped:
                return None
            if verdict != PASSED:
                killers.append([test.name, verdict])
                self.note(mutant, test)
                if not self.is_matrix:
                    break
        result = CAUGHT if killers else SURVIVED if reaching else UNREACHED
        fate = {"result": result, "killers": killers, "is_cut": is_cut}
        self.journal.put(key, fate)
        return fate

    def unreliable(self, fates):
        """The tests that have caught mutants, and that fail now and then without one."""
        names = {name for _, fate in fates for name, _ in fate["killers"]}
        tests = [test for test in self.tests if test.name in names]
        found = set()
        for test, result in self.for_each(tests * CONTROL_RUNS, self.run_without_mutant):
            if result is not None and result.verdict != PASSED:
                found.add(test.name)
        return sorted(found)

    def run_without_mutant(self, test):
        return self.run(test, {}, *self.limits(test))

    def limits(self, test):
        """The limits of a test with a mutant: seconds of processor time, and seconds by the clock (see Runner.wait)."""
        return math.ceil(5 * test.cpu_seconds + 0.5), 5 * test.seconds + 3

    def in_order(self, mutant, tests):
        """The tests in the best order: first those that have caught a mutant of the same function, then those
        that need least time for a catch."""
        first = [test for test in self.catchers[(mutant.file, mutant.function)] if test in tests]
        rest = [test for test in tests if test not in first]
        return first + sorted(rest, key=lambda test: test.seconds_for_a_catch)

    def note(self, mutant, test):
        test.catches += 1
        catchers = self.catchers[(mutant.file, mutant.function)]
        self.catchers[(mutant.file, mutant.function)] = [test] + [each for each in catchers if each is not test]

    def verdict_with(self, mutant, test):
        for _ in range(2 if test.sleeps else 1):
            result = self.run(test, {"TW_MUTANT": str(mutant.number)}, *self.limits(test))
            if result.verdict not in {FAILED, HANGS, LOOPS}:
                return PASSED
        return result.verdict


def duration(seconds):
    minutes, seconds = divmod(int(seconds), 60)
    return f"{minutes} min {seconds} s" if minutes else f"{seconds} s"
