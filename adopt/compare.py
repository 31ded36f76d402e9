#!/usr/bin/env python3
"""compare.py PROGRAM VERSION DIRECTORY [--runs R] -- COMMAND...

Compares the two copies of an adopted program: runs their tests, and their benchmark R times each, in turn. COMMAND, followed
by --run, "before" or "after", and "run_tests" or "run_bench", runs one of the four; see adopt.sh. Writes
DIRECTORY/result.json, and prints a table and a verdict. Ends non-zero if a test fails with Tickwheel that passes without it.
"""
import argparse
import json
import statistics
import subprocess
import sys

COPIES = ("before", "after")


def run(command, copy, function):
    done = subprocess.run([*command, "--run", copy, function], stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"compare: {function} failed, {copy}; see above")
    return done.stdout.splitlines()


def tests(command, copy):
    results = {}
    for line in run(command, copy, "run_tests"):
        verdict, name = line.split(" ", 1)
        results[name] = verdict == "pass"
    if not any(results.values()):
        sys.exit(f"compare: no test of the program passed, {copy}")
    return results


def bench(command, runs):
    """Returns {workload: {"unit": U, "before": [value, ...], "after": [...]}}."""
    results = {}
    for _ in range(runs):
        for copy in COPIES:
            for line in run(command, copy, "run_bench"):
                workload, value, unit = line.split("\t")
                row = results.setdefault(workload, {"unit": unit, "before": [], "after": []})
                row[copy].append(float(value))
    for workload, row in results.items():
        if not len(row["before"]) == len(row["after"]) == runs:
            sys.exit(f"compare: the two copies did not both measure: {workload}")
    return results


def figure(values):
    """The median, and the least and the greatest value."""
    if len(values) == 1:
        return f"{values[0]:.4g}"
    return f"{statistics.median(values):.4g} ({min(values):.4g}-{max(values):.4g})"


def table(results):
    rows = [("", "before", "after", "before : after")]
    for workload, row in results.items():
        before, after = row["before"], row["after"]
        ratio = statistics.median(before) / statistics.median(after) if statistics.median(after) else float("inf")
        rows.append((f"{workload}, {row['unit']}", figure(before), figure(after), f"{ratio:.3g}"))
    widths = [max(len(row[i]) for row in rows) for i in range(4)]
    for row in rows:
        print("  ".join([row[0].ljust(widths[0])] + [row[i].rjust(widths[i]) for i in (1, 2, 3)]))


def judge(before, after):
    """Prints what the program's tests say, and returns whether the adapter broke none."""
    broken = sorted(name for name, passed in before.items() if passed and not after.get(name, False))
    failing = sorted(name for name, passed in before.items() if not passed and not after.get(name, False))
    mended = sorted(name for name, passed in after.items() if passed and not before.get(name, False))
    print(f"its own tests: {sum(before.values())} of {len(before)} pass before, "
          f"{sum(after.values())} of {len(after)} after")
    for what, names in (("fail in both", failing), ("fail only before", mended), ("FAIL ONLY AFTER", broken)):
        if names:
            print(f"  {what}: {', '.join(names)}")
    return not broken


def main():
    mine, command = sys.argv[1:], []
    if "--" in mine:
        at = mine.index("--")
        mine, command = mine[:at], mine[at + 1:]
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("program")
    parser.add_argument("version")
    parser.add_argument("directory")
    parser.add_argument("--runs", type=int, default=5)
    options = parser.parse_args(mine)
    if options.runs < 1:
        sys.exit("compare: --runs takes a number from 1")
    passed = {copy: tests(command, copy) for copy in COPIES}
    measured = bench(command, options.runs)
    with open(f"{options.directory}/result.json", "w", encoding="utf-8") as file:
        json.dump({"program": options.program, "version": options.version, "tests": passed, "bench": measured}, file, indent=1)
    print(f"\n{options.program} {options.version}: its timers, and Tickwheel's (median of {options.runs}, "
          "least and greatest; less is better)")
    table(measured)
    if not judge(passed["before"], passed["after"]):
        sys.exit(1)


main()
