#!/usr/bin/env python3
"""What adopt/compare.py says of a made-up program whose tests and benchmark do as each case tells them."""
import json
import os
import subprocess
import sys
import tempfile

COMPARE = f"{os.path.dirname(os.path.abspath(__file__))}/../../adopt/compare.py"

# case.json holds, for each copy and function, the outputs of one run after the other, null for a run that fails; the
# last one repeats.
PROGRAM = """
import json, os, sys
copy, function = sys.argv[2:4]
folder = os.path.dirname(os.path.abspath(__file__))
count = f"{folder}/{copy}.{function}"
run = int(open(count).read()) if os.path.exists(count) else 0
open(count, "w").write(str(run + 1))
outputs = json.load(open(f"{folder}/case.json"))[copy + " " + function]
output = outputs[min(run, len(outputs) - 1)]
if output is None:
    sys.exit(1)
print("\\n".join(output))
"""

GOOD = ["pass a", "pass b"]


def compare(before, after, bench_before=("x\t10\tns",), bench_after=("x\t5\tns",), runs=1):
    """Returns the exit status, the output and result.json, if there is one."""
    with tempfile.TemporaryDirectory() as folder:
        with open(f"{folder}/program.py", "w", encoding="ascii") as file:
            file.write(PROGRAM)
        with open(f"{folder}/case.json", "w", encoding="ascii") as file:
            json.dump({"before run_tests": before, "after run_tests": after, "before run_bench": [bench_before],
                       "after run_bench": [bench_after]}, file)
        done = subprocess.run([sys.executable, "-B", COMPARE, "made-up", "1.0", folder, "--runs", str(runs), "--",
                               sys.executable, f"{folder}/program.py"], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True)
        result = f"{folder}/result.json"
        measured = json.load(open(result, encoding="utf-8")) if os.path.exists(result) else None
    return done.returncode, done.stdout, measured


failures = 0


def expect(case, holds, output):
    global failures
    if not holds:
        failures += 1
        print(f"check_verdict: {case}; the output was:\n{output}")


status, output, result = compare([GOOD], [GOOD], runs=3)
expect("equal tests are a success", status == 0 and "2 of 2 pass before, 2 of 2 pass after" in output, output)
expect("the table has the ratio", output.splitlines()[-3].split()[-2] == "2", output)
expect("each copy is measured in each run", result and result["bench"]["x"]["after"] == [5, 5, 5], output)
expect("good tests run once", result and result["test_runs"] == 1, output)

status, output, _ = compare([GOOD], [["pass a", "fail b"]])
expect("a broken test is a failure, by name",
       status != 0 and "b: fails in 0 of 3 runs before, 3 after - BROKEN" in output, output)

status, output, _ = compare([GOOD], [["pass a"]])
expect("a test that is no longer reported is broken", status != 0 and "b: fails in 0 of 3" in output, output)

status, output, _ = compare([["pass a", "fail b"]], [["pass a", "fail b"]])
expect("a test that fails in both is named", status == 0 and "fail in both: b" in output, output)

status, output, _ = compare([GOOD], [["pass a", "fail b"], GOOD])
expect("one failure in three is told, and no verdict",
       status == 0 and "b: fails in 0 of 3 runs before, 1 after" in output, output)

status, output, _ = compare([["pass a", "fail b"]], [GOOD])
expect("a mended test is told", status == 0 and "b: fails in 1 of 1 runs before, 0 after" in output, output)

status, output, result = compare([GOOD], [["fail a", "fail b"]])
expect("a copy whose tests all fail is a failure", status != 0 and result is None, output)

status, output, result = compare([GOOD], [GOOD], bench_after=("y\t1\tns",))
expect("workloads that only one copy measures are a failure", status != 0 and result is None, output)

status, output, result = compare([GOOD], [GOOD], bench_after=None)
expect("a benchmark that fails is a failure, by name",
       status != 0 and result is None and "run_bench failed, after" in output, output)

status, output, result = compare([GOOD], [None])
expect("tests that cannot run are a failure, by name",
       status != 0 and result is None and "run_tests failed, after" in output, output)

sys.exit(failures != 0)
