#!/usr/bin/env python3
"""compare.py PROGRAM VERSION DIRECTORY [--runs R] -- COMMAND...

Compares the two copies of an adopted program: runs the tests of both, and the benchmark of both R times, in turn.
COMMAND, followed by --run, "before" or "after", and "run_tests" or "run_bench", runs one of the four; see adopt.sh.
Prints a table and a verdict, and writes all measurements to DIRECTORY/result.json.

A program's own tests may fail now and then. So if a test passes before and fails after, all tests run twice more in
both copies, and the verdict is a failure if that test then has at least two more failures after than before.
"""
import argparse
import json
import statistics
import subprocess
import sys

COPIES = ("before", "after")
MORE_TEST_RUNS = 2


def run(command, copy, function):
    done = subprocess.run([*command, "--run", copy, function], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"compare: {function} failed, {copy}; see above")
    return done.stdout.splitlines()


class Tests:
    """How often each test of the program has failed in each copy."""

    def __init__(self, command):
        self.command = command
        self.runs = 0
        self.failures = {copy: {} for copy in COPIES}

    def run(self):
        self.runs += 1
        for copy in COPIES:
            failures = self.failures[copy]
            lines = run(self.command, copy, "run_tests")
            seen = {line.split(" ", 1)[1] for line in lines}
            for name in seen | set(failures):
                # A test has failed in each run in which it does not report.
                passed = f"pass {name}" in lines and f"fail {name}" not in lines
                failures[name] = failures.get(name, self.runs - 1) + (not passed)
            if not any(line.startswith("pass ") for line in lines):
                sys.exit(f"compare: no test of the program passes, {copy}")

    def worse(self, least):
        """The tests that failed in more runs after than before, by at least `least`."""
        before, after = (self.failures[copy] for copy in COPIES)
        return sorted(name for name in before if after.get(name, self.runs) - before[name] >= least)

    def judge(self):
        """Prints the results of the tests, and returns whether the adapter broke none."""
        before, after = (self.failures[copy] for copy in COPIES)
        broken = self.worse(1 if self.runs == 1 else 2)
        always = sorted(name for name in before if before[name] == after.get(name, self.runs) == self.runs)
        print("its own tests: " + ", ".join(f"{sum(n == 0 for n in self.failures[copy].values())} of "
                                            f"{len(self.failures[copy])} pass {copy}" for copy in COPIES))
        if always:
            print(f"  fail in both: {', '.join(always)}")
        for name in sorted(set(before) | set(after)):
            counts = before.get(name, self.runs), after.get(name, self.runs)
            if any(counts) and name not in always:
                print(f"  {name}: fails in {counts[0]} of {self.runs} runs before, {counts[1]} after"
                      + (" - BROKEN" if name in broken else ""))
        return not broken


def bench(command, runs):
    """Returns {workload: {"unit": U, "before": [value, ...], "after": [...]}}."""
    results = {}
    for number in range(runs):
        for copy in COPIES if number % 2 == 0 else reversed(COPIES):
            for line in run(command, copy, "run_bench"):
                workload, value, unit = line.split("\t")
                row = results.setdefault(workload, {"unit": unit, "before": [], "after": []})
                row[copy].append(float(value))
    for workload, row in results.items():
        if not len(row["before"]) == len(row["after"]) == runs:
            sys.exit(f"compare: not measured as often before as after: {workload}")
    return results


def short(value, digits=3):
    """A few digits, without an exponent."""
    return f"{float(f'{value:.{digits}g}'):.10g}"


def figure(values):
    """The median, and the least and the greatest value."""
    median = short(statistics.median(values))
    return median if len(values) == 1 else f"{median} ({short(min(values))}-{short(max(values))})"


def ratio(row):
    before, after = statistics.median(row["before"]), statistics.median(row["after"])
    return short(before / after, digits=2) if after != 0 else "-"


def print_table(results):
    """A table in Markdown."""
    rows = [("", "before", "after", "before : after")]
    for workload, row in results.items():
        rows.append((f"{workload}, {row['unit']}", figure(row["before"]), figure(row["after"]), ratio(row)))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for number, row in enumerate(rows):
        print("| " + " | ".join([row[0].ljust(widths[0]), *(row[i].rjust(widths[i]) for i in range(1, 4))]) + " |")
        if number == 0:
            print("|" + "|".join("-" * (width + 2) for width in widths) + "|")


def main():
    at = sys.argv.index("--")
    command = sys.argv[at + 1:]
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("version")
    parser.add_argument("directory")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args(sys.argv[1:at])
    if options.runs < 1:
        parser.error("--runs takes a number from 1")
    tests = Tests(command)
    tests.run()
    if tests.worse(1):
        for _ in range(MORE_TEST_RUNS):
            tests.run()
    measured = bench(command, options.runs)
    with open(f"{options.directory}/result.json", "w", encoding="utf-8") as file:
        json.dump({"program": options.program, "version": options.version, "test_runs": tests.runs,
                   "test_failures": tests.failures, "bench": measured}, file, indent=1)
    print(f"\n{options.program} {options.version}, before: its own timers, after: Tickwheel's "
          f"(runs: {options.runs}; the median, the least and the greatest; less is better)\n")
    print_table(measured)
    print()
    if not tests.judge():
        sys.exit("compare: Tickwheel breaks tests of the program")


if __name__ == "__main__":
    main()
