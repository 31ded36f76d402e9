"""looks.py TOOL HANDLER [ADDRESS]: what tickwheel-jobs says about why jobs do not run, about kinds and members; and what it
changes at once."""
import json
import re
import subprocess
import sys
import time

from tool import HOSTILE, SHOWN, Handler, is_safe, run

program, handler, *address = sys.argv[1:]


def why_becomes(tool, kind, key, pattern):
    """Waits until the tool gives this reason."""
    until = time.monotonic() + 60
    while not re.search(pattern, said := tool("why", kind, key)):
        assert time.monotonic() < until, (pattern, said)
        time.sleep(0.05)
    assert is_safe(said) and said.count("\n") == 1 and said.endswith(".\n"), said


def empty(tool):
    states = ("pending", "held", "started", "failed", "given_up", "waiting")
    tool("remove", *(word for state in states for word in ("--state", state)), "--yes")
    assert tool("count") == "0\n"


def why_without_a_process(tool):
    done = tool.run("why", "slow", "x")
    assert done.returncode == 3 and b"There is no job of this name" in done.stdout, done
    tool("put", "slow", "x", "--in", "2h")
    why_becomes(tool, "slow", "x", r"^It is not due: it fires in 1 h 59 min, at \d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC\.$")
    tool("put", "slow", "x")
    why_becomes(tool, "slow", "x", r"^It has been due for \d.*, and no process is alive")
    tool.fails(2, "UTF-8", "why", b"\xff", "x")
    empty(tool)


def why_with_a_process(tool):
    with Handler(handler, tool, ("slow", "held", "bad", "retry"), "A"):
        tool("put", HOSTILE, HOSTILE)
        why_becomes(tool, HOSTILE, HOSTILE, "and nobody handles its kind: A, the only process that is alive, does not")
        tool("put", "held", "x", "--in", "55s")
        why_becomes(tool, "held", "x", r"^A holds it, and fires it in \d+ s, at .* The lease of A lasts until ")
        tool("put", "slow", "x")
        why_becomes(tool, "slow", "x", "^A has started its handler, which runs or waits for a worker there; it became ready ")
        tool("put", "bad", "x")
        why_becomes(tool, "bad", "x", r'^It has failed: try 1 was the last one, and ended with "no \\x1b\[2Jpaper"; it stays')
        tool("put", "bad", "p", "--every", "1h", "--at", "2020-01-01T00:00:00Z")
        why_becomes(tool, "bad", "p", r'^It waits for its next due time, .* given up, because the last try ended with "no \\x1b')
        tool("put", "retry", "x")
        why_becomes(tool, "retry", "x", r'(holds it, and fires it|waits for its next try, ).*[Tt]ry 1 has failed with "no ink"')
        counted = tool("kinds")
        assert re.search(r"^KIND .* HANDLED BY$", counted, re.M) and is_safe(counted), counted
        assert re.search(rf"^{re.escape(SHOWN)} +1 .* late +nobody$", counted, re.M), counted
        assert re.search(r"^bad +in \d+ .* 1 +1 +1$", counted, re.M), counted  # failed, given up, one process
        told = tool("members")
        assert re.search(r"^A +\d+ +alive +ends in \d+ s +\d+ +\d+ +right .* slow, held, bad, retry$", told, re.M), told
        assert json.loads(tool("list", "bad", "--state", "given_up", "--json"))[0]["state"] == "given_up"
        assert re.search(r"^bad +p +given_up ", tool("list"), re.M) and "state:     given_up" in tool("get", "bad", "p")
        measured = tool("metrics")
        assert re.search(r'^tickwheel_jobs\{kind="bad",state="given_up"\} 1$', measured, re.M), measured
        assert re.search(r'^tickwheel_jobs\{kind="bad",state="pending"\} 0$', measured, re.M), measured
        assert re.search(r'^tickwheel_members\{is="alive"\} 1$', measured, re.M), measured
        assert re.search(r'^tickwheel_jobs_handlers\{kind="held"\} 1$', measured, re.M), measured
    empty(tool)


def why_when_a_group_is_left(tool):
    tool("put", "k", "1", "--in", "1h", "--group", "g")
    tool("put", "bad", "2", "--group", "g")
    tool("put", "k", "last", "--waits-for", "g")
    why_becomes(tool, "k", "last", r'^It waits for the group "g": 2 jobs are left\.$')
    with Handler(handler, tool, ("bad",), "A"):
        why_becomes(tool, "k", "last", r"2 jobs are left, 1 of them has failed, and must be requeued, replaced or removed\.$")
    assert re.search(r"^KIND .* WAITING +HANDLED BY$", tool("kinds"), re.M), tool("kinds")
    assert re.search(r'^tickwheel_jobs\{kind="k",state="waiting"\} 1$', tool("metrics"), re.M)
    assert tool("requeue", "--group", "h") == "0 requeued\n" and tool("requeue", "--group", "g") == "1 requeued\n"
    assert tool("remove", "--group", "g", "--yes") == "2 removed\n"
    assert json.loads(tool("get", "k", "last", "--json"))["state"] == "pending"
    empty(tool)


def why_when_all_are_busy(tool):
    with Handler(handler, tool, ("slow",), "A", "hold=1"):
        tool("put", "slow", "x")
        tool.wait_for(1, "slow", "--state", "started")
        tool("put", "slow", "y")
        why_becomes(tool, "slow", "y", "and A, which handles its kind, has not claimed it yet; A runs 1 and holds 0 more. It "
                    "waits if all workers are busy; if they are not, look at the log")
    empty(tool)


def two_processes_of_one_name(tool):
    with Handler(handler, tool, ("slow",), "A"), Handler(handler, tool, ("held",), "A"):
        tool("put", "slow", "x")
        tool("put", "held", "x", "--in", "58s")
        tool.wait_for(1, "slow", "--state", "started")
        tool.wait_for(1, "held", "--state", "held")
        holders = {each["kind"]: each["holder_id"] for each in tool.entries()}
        assert holders["slow"] != holders["held"]
        told = {int(line.split()[1]): line.split()[-1] for line in tool("members").splitlines()[1:]}
        assert told == {holders["slow"]: "slow", holders["held"]: "held"}, told
        assert f"A, member {holders['held']}\n" in tool("get", "held", "x")
    empty(tool)


def why_when_a_process_is_gone(tool):
    first = Handler(handler, tool, ("held",), "A", "lease_ms=1000 timeout_ms=1000 horizon_ms=60000")
    tool("put", "held", "x", "--in", "58s")
    tool.wait_for(1, "held", "--state", "held")
    first.kill()
    why_becomes(tool, "held", "x", r"^A holds it, but the lease of A ended .* ago; no other process is alive to take over\.$")
    assert re.search(r"^A +\d+ +silent +ended .* ago +1 +0 ", tool("members"), re.M), tool("members")
    with Handler(handler, tool, ("held",), "B", "horizon_ms=60000"):
        why_becomes(tool, "held", "x", "^B holds it")
    first.__exit__()
    empty(tool)


def fires_now(tool):
    tool("put", "held", "x", "--in", "1h")
    due = tool.entries("held")[0]["due"]
    assert tool("fire", "held", "x") == "fires now\n"
    fired, = tool.entries("held")
    assert fired["due"] == due and fired["ready"] < due and tool("count", "--late") == "1\n"
    tool.fails(3, "there is no job y of kind held", "fire", "held", "y")
    tool("put", "held", "cron", "--cron", "0 0 1 1 *")
    tool("put", "held", "period", "--every", "10min", "--at", "2099-01-01T00:03:00Z")
    for key in ("cron", "period"):
        assert tool("fire", "held", key) == "fires now\n"
    assert re.search(r":[0-5]3:00\.000000Z", json.loads(tool("get", "held", "period", "--json"))["due"])
    with Handler(handler, tool, ("slow",), "A"):
        tool("put", "slow", "x")
        tool.wait_for(1, "slow", "--state", "started")
        assert tool("fire", "slow", "x") == "nothing has changed: its handler was started, and may be running\n"
    empty(tool)


def lists_what_is_late_in_its_order(tool):
    for key, hours in (("a", 1), ("b", 3), ("c", 2)):
        tool("put", "k", key, "--at", time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - 3600 * hours)))
    tool("put", "k", "d", "--in", "1h")
    tool("put", "j", "e", "--in", "30min")
    def keys(*words): return "".join(each["key"] for each in tool.entries(*words))
    assert keys("--late") == "bca" and keys("--older-than", "90min") == "bc" and keys("--sort", "due") == "bcaed"
    assert keys("k", "--sort", "due") == "bcad" and keys("--sort", "name") == "eabcd"
    assert tool("count", "--late") == "3\n" and tool("count", "k", "--older-than", "150min") == "1\n"
    counted = tool("kinds")
    assert re.search(r"^k +4 +3 +3 +3 +3 h late +nobody$", counted, re.M), counted
    tool.fails(2, "order of names", "list", "k", "--after", "a", "--late")
    tool.fails(2, "--sort size", "list", "--sort", "size")
    shown = tool("remove", "--late", "--older-than", "90min", "--dry-run")
    assert shown.endswith("\n\n2 would be removed\n") and shown.count("pending") == 2 and tool("count") == "5\n"
    assert tool("remove", "--older-than", "90min", "--yes") == "2 removed\n"
    tool.fails(2, "--yes", "remove", "k")
    tool.fails(2, "says which jobs", "remove", "--yes")
    tool.fails(2, "without a key", "remove", "k", "a", "--yes")
    assert tool("remove", "k", "--yes") == "2 removed\n" and tool("remove", "j", "--late", "--yes") == "0 removed\n"
    empty(tool)


def tells_of_a_kind_that_is_misspelt(tool):
    tool("put", "mail", "x", "--in", "1h")
    nothing = {("list",): "", ("list", "--json"): "[]\n", ("count",): "0\n", ("requeue",): "0 requeued\n",
               ("requeue", "--dry-run"): "0 would be requeued\n", ("remove", "--yes"): "0 removed\n"}
    for (verb, *options), said in nothing.items():
        done = tool.run(verb, "mial", *options)
        assert done.returncode == 0 and done.stdout.decode() == said, (verb, done)
        assert done.stderr == b"tickwheel-jobs: there are no jobs of kind mial, and no process handles this kind\n", done
    assert "there are no jobs of kind mial" in tool("watch", "mial", "--once")
    assert tool("list", "mail", "--state", "failed") == "" and tool("requeue", "mail") == "0 requeued\n"
    with Handler(handler, tool, ("held",)):
        assert tool("count", "held") == "0\n" and "no jobs" not in tool("watch", "held", "--once")
    empty(tool)


def says_at_a_terminal_that_there_is_nothing(tool):
    for verb, said in (("list", "there are no such jobs"), ("kinds", "there are no jobs"),
                       ("members", "no process handles jobs")):
        assert tool(verb) == ""
        done = subprocess.run(["script", "-qec", f"{program} --schema {tool.schema} {verb}", "/dev/null"], text=True,
                              stdin=subprocess.DEVNULL, capture_output=True, env=tool.environment, timeout=60)
        assert done.stdout.strip() == f"tickwheel-jobs: {said}", done


def asks_before_it_removes_many(tool):
    """`script` gives the tool a terminal."""
    tool("put", "k", "x", "--in", "1h")
    for answer, said, left in (("n", "nothing removed", 1), ("y", "1 removed", 0)):
        done = subprocess.run(["script", "-qec", f"{program} --schema {tool.schema} remove k", "/dev/null"], text=True,
                              input=f"{answer}\n", capture_output=True, env=tool.environment, timeout=60)
        assert "remove 1 job? [y/N]" in done.stdout and said in done.stdout, done
        assert tool("count") == f"{left}\n"


def requeues_many(tool):
    with Handler(handler, tool, ("bad",), "A"):
        for key in ("a", "b"):
            tool("put", "bad", key)
        tool.wait_for(2, "bad", "--state", "failed")
    assert tool("requeue", "bad", "--dry-run").endswith("\n\n2 would be requeued\n")
    assert tool("requeue", "--older-than", "1h") == "0 requeued\n" and tool("requeue", "bad") == "2 requeued\n"
    assert tool("count", "--late") == "2\n"
    empty(tool)


def lists_more_than_a_page(tool):
    text = "".join(f"put many {i:04} 3600000\n" for i in range(2300))
    done = subprocess.run([handler], input=f"open {tool.address} schema={tool.schema}\n{text}", text=True,
                          stdout=subprocess.DEVNULL)
    assert done.returncode == 0
    for order in ("name", "due"):
        listed = tool("list", "--sort", order).splitlines()
        assert len(listed) == 1 + 2300 and len({line.split()[1] for line in listed[1:]}) == 2300
        assert len(tool.entries("--sort", order)) == 2300 and len(tool.entries("--sort", order, "--limit", "1001")) == 1001
    assert tool("remove", "many", "--yes") == "2300 removed\n"


run(program, (says_at_a_terminal_that_there_is_nothing, why_without_a_process, why_with_a_process,
              why_when_a_group_is_left, why_when_all_are_busy, why_when_a_process_is_gone, two_processes_of_one_name,
              fires_now, tells_of_a_kind_that_is_misspelt, lists_what_is_late_in_its_order, asks_before_it_removes_many,
              requeues_many, lists_more_than_a_page),
    *address)
