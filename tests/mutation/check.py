#!/usr/bin/env python3
"""check.py WORK: checks that ./dev mutate reports exactly the mutants that the test of the sample misses, names the
entry that matches no mutant, and leaves the sample unchanged. WORK is the folder for its results."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
SAMPLE = HERE / "sample"
RELAXED = "=> calls.store(1, std::memory_order_relaxed)"
STALE = "equivalent.txt:10: no mutant matches: src/sample.cpp nowhere removal"


def texts(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def mutate(work, *arguments):
    tool = HERE.parents[1] / "tools" / "mutate" / "mutate.py"
    command = [sys.executable, "-B", tool, SAMPLE / "src", "--root", SAMPLE, "--work", work / "work"]
    command += ["--equivalent", SAMPLE / "equivalent.txt", *arguments]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    print(done.stdout)
    return done


def survivors(report):
    lines = set()
    for each in report["mutants"]:
        if each["result"] != "caught":
            change = f"{each['original']} => {each['changed']}".rstrip()
            lines |= {f"{each['file']} {each['function']} {each['kind']}\n{change}"}
    return lines


def expect(is_so, what):
    if not is_so:
        sys.exit(f"check.py: {what}")


def main():
    work = Path(sys.argv[1])
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    before = texts(SAMPLE)

    done = mutate(work, "--json", work / "report.json")
    expect(done.returncode == 1 and STALE in done.stdout, "the entry that matches nothing is not reported")
    report = json.loads((work / "report.json").read_text())
    expect(report["equivalent"] == 3, "the entries that match mutants are not used")
    lines = (HERE / "expected.txt").read_text().splitlines()
    expected = {"\n".join(pair) for pair in zip(lines[::2], lines[1::2])}
    found = survivors(report)
    expect(found == expected, f"survivors: missing {expected - found}, unexpected {found - expected}")

    expect({"fails", "loops"} == set(report["catches"]), f"the catches are counted otherwise: {report['catches']}")

    again = mutate(work, "--json", work / "again.json")
    expect("recording" not in again.stdout, "the second run does not go on from the first")
    expect(json.loads((work / "again.json").read_text()) == report, "the second run has another report")

    fewer = mutate(work, "--survivors", work / "report.json", "--json", work / "fewer.json")
    expect(f"{len(expected)} mutants" in fewer.stdout, "not only what survived runs again")
    expect(survivors(json.loads((work / "fewer.json").read_text())) == expected, "other survivors the second time")

    orders = mutate(work, "--orders", "--list").stdout
    expect(orders.count(" => ") == 1 and RELAXED in orders, "other memory orders")

    mutate(work, "--matrix", work / "matrix.json")
    matrix = json.loads((work / "matrix.json").read_text())
    expect(matrix["needed"] == [{"test": "sample_test", "adds": 41}], "the matrix counts otherwise")

    expect(texts(SAMPLE) == before, "the sources are not as they were")


if __name__ == "__main__":
    main()
