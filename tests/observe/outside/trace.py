"""trace.py PROGRAM: has PROGRAM record itself, reads its recording as a viewer of traces would, and compares
it with what the program reports."""
import json
import subprocess
import sys

run = subprocess.run([sys.argv[1], "trace"], capture_output=True, check=True, timeout=100)
begin, rest = run.stderr.decode().splitlines()
end, node, handle, fired, ran, handled = rest.split()
begin_us, end_us = int(begin) / 1000, int(end) / 1000
trace = json.loads(run.stdout.decode("utf-8"))
events = trace["traceEvents"]
fires = [event for event in events if event["ph"] == "X"]
threads = {event["tid"]: event["args"]["name"] for event in events if event.get("name") == "thread_name"}

# Every fire, under the name and in the kind that it should have.
LABEL = 'say "hi"\n\\ \u00e9 \\xff\x01'


def those(name, kind):
    return [fire for fire in fires if fire["name"] == name and fire["cat"] == kind]


assert len(those(LABEL, "fired")) == int(fired), (len(those(LABEL, "fired")), fired)
assert len(those("on a worker", "on a worker")) == int(ran)
assert len(those("on a worker", "passed on")) == int(ran)
unlabelled = [fire for fire in fires if fire["name"] not in (LABEL, "on a worker")]
assert len(unlabelled) == int(handled)
assert all("public_callback" in fire["name"] or "+0x" in fire["name"] for fire in unlabelled), unlabelled[0]
assert all(fire["args"]["handle"] == handle for fire in unlabelled)
assert all(fire["args"]["node"] == node for fire in those(LABEL, "fired"))
assert len(fires) == trace["otherData"]["fires_written"] and trace["otherData"]["fires_lost"] == 0

# Threads have their names, and each runs one callback at a time, or one inside the other.
assert {threads[fire["tid"]] for fire in those(LABEL, "fired")} == {'fires "here"'}
assert {threads[fire["tid"]] for fire in those("on a worker", "on a worker")} == {"tickwheel-work"}
for thread in threads:
    open_until = []
    of_thread = [fire for fire in fires if fire["tid"] == thread]
    for fire in sorted(of_thread, key=lambda it: (it["ts"], -it["dur"])):
        while open_until and open_until[-1] <= fire["ts"] + 0.001:  # printed in steps of a nanosecond
            open_until.pop()
        assert not open_until or fire["ts"] + fire["dur"] <= open_until[-1] + 0.001, fire
        open_until.append(fire["ts"] + fire["dur"])

# The times lie within the run, and durations are those of the callbacks.
for fire in fires:
    assert begin_us <= fire["ts"] and fire["ts"] + fire["dur"] <= end_us, (begin_us, fire, end_us)
    due_us = int(fire["args"]["due_ns"]) / 1000
    late_us = fire["args"]["late_us"]
    assert late_us >= 0 and abs(fire["ts"] - due_us - late_us) < 500 + 0.001 * (end_us - begin_us), fire
    assert fire["cat"] == "on a worker" or fire["args"]["cause"] in ("waking", "callbacks", "budget")
assert min(fire["dur"] for fire in those(LABEL, "fired")) >= 490
assert min(fire["dur"] for fire in those("on a worker", "on a worker")) >= 1990
counters = [event for event in events if event["ph"] == "C"]
assert len(counters) == len(fires) - int(ran)
print(f"{len(fires)} fires on {len(threads)} threads are as they should be")
