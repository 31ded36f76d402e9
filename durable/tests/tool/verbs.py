"""verbs.py TOOL HANDLER: what each verb of tickwheel-jobs does, and how it fails."""
import json
import os
import re
import subprocess
import sys
import time

from tool import HOSTILE, SHOWN, Handler, is_safe, run

program, handler = sys.argv[1:]


def row(tool, key):
    return next(line for line in tool("list").splitlines() if key in line)


def puts_and_removes(tool):
    assert tool("list") == "" and tool("list", "--json") == "[]\n" and tool("count") == "0\n"
    assert tool("put", "k", "x", "--in", "1h30min", "--payload", "1") == "put\n"
    assert tool("put", "k", "x", "--in", "1h30min", "--payload", "2") == "put\n"
    assert tool("put", "k", "x", "--payload", "3", "--keep") == "kept the existing job\n"
    assert json.loads(tool("get", "k", "x", "--json"))["payload"] == "2"
    assert re.search(r"x +pending +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +in 1 h 29 min +\"2\"$", row(tool, "x"))
    assert tool("remove", "k", "x") == "removed\n"
    tool.fails(3, "there is no job x of kind k", "remove", "k", "x")
    tool.fails(3, "there is no job x of kind k", "get", "k", "x")
    tool.fails(3, "there is no failed job x of kind k", "requeue", "k", "x")
    assert tool("requeue") == "0 requeued\n"
    assert tool("count") == "0\n"


def knows_times(tool):
    for written, due in {"2026-12-24T18:00:00Z": "2026-12-24T18:00:00.000000Z",
                         "2026-12-24T18:00:00.5+01:30": "2026-12-24T16:30:00.500000Z",
                         "2028-02-29T23:59:59.999999999-00:01": "2028-03-01T00:01:00.000000Z",
                         "1970-01-01T00:00:00Z": "1970-01-01T00:00:00.000000Z",
                         "2200-12-31T00:00:00Z": "2200-12-31T00:00:00.000000Z"}.items():
        tool("put", "k", "x", "--at", written)
        assert json.loads(tool("get", "k", "x", "--json"))["due"] == due, written
    assert "in 17" in row(tool, "2200-12-31") or "in 6" in row(tool, "2200-12-31")  # days
    for written in ["2026-12-24", "2026-12-24T18:00:00", "2026-12-24 18:00:00Z", "2026-12-24T18:00Z", "1969-12-31T23:59:59Z",
                    "2026-02-29T00:00:00Z", "2026-13-01T00:00:00Z", "2026-12-24T24:00:00Z", "2026-12-24T18:00:60Z",
                    "2026-12-24T18:00:00.Z", "2026-12-24T18:00:00.1234567890Z", "2026-12-24T18:00:00+1:00", "",
                    "2026-12-24T18:00:00Z ", "+026-12-24T18:00:00Z", "1970-01-01T00:00:00+00:01", "2201-01-01T00:00:00Z"]:
        tool.fails(2, "--at", "put", "k", "y", "--at", written)
    for written in ["", "3", "3m", "min", "1.5h", "-3s", "3 s", "1min1h", "1s1s", "999999d", "99999999999999999999s", "3S"]:
        tool.fails(2, "--in", "put", "k", "y", f"--in={written}")
    assert tool("count") == "1\n"
    tool("remove", "k", "x")


def puts_jobs_that_wait(tool):
    tool("put", "k", "part", "--in", "1h", "--group", HOSTILE)
    tool("put", "k", "whole", "--waits-for", HOSTILE, "--group", "h", "--within", "5s")
    part, whole = tool.entries("k")
    assert (part["group"], part["waits_for"], part["state"]) == (HOSTILE, None, "pending")
    assert (whole["group"], whole["waits_for"], whole["state"], whole["ready"]) == ("h", HOSTILE, "waiting", None)
    assert re.search(r"whole +waiting +\d{4}-\d\d-\d\d \d\d:\d\d:\d\d +h +" + re.escape(SHOWN), row(tool, "whole"))
    shown = tool("get", "k", "whole")
    assert f"waits for: {SHOWN}\n" in shown and "group:     h\n" in shown and "when:" not in shown, shown
    assert tool("count", "--state", "waiting") == tool("count", "--group", "h") == "1\n"
    assert tool("list", "--group", "none") == ""
    tool("put", "k", "part", "--in", "20h", "--within", "3h")
    assert re.search(r"in (3 h|2 h 59 min)", row(tool, "part")), row(tool, "part")
    tool.fails(2, "its own group", "put", "k", "x", "--group", "g", "--waits-for", "g")
    tool.fails(2, "periodic", "put", "k", "x", "--group", "g", "--every", "1h")
    tool.fails(2, "go without a key", "remove", "k", "part", "--group", "g")
    assert tool("fire", "k", "whole") == "fires now\n"
    for key in ("part", "whole"):
        tool("remove", "k", key)


def puts_periodic_jobs(tool):
    tool("put", "k", "period", "--every", "1h", "--missed", "skip", "--grace", "2s500ms")
    tool("put", "k", "later", "--every", "1d", "--at", "2099-01-01T00:00:00Z", "--missed=burst")
    tool("put", "k", "cron", "--cron", "30 9 * * mon-fri", "--zone", "Europe/Berlin")
    cron, later, period = tool.entries("k")
    assert (period["period_s"], period["missed"], period["grace_s"]) == (3600, "skip", 2.5)
    assert (later["due"], later["missed"], later["grace_s"]) == ("2099-01-01T00:00:00.000000Z", "burst", 1)
    assert (cron["cron"], cron["zone"], cron["missed"]) == ("30 9 * * mon-fri", "Europe/Berlin", "coalesce")
    assert re.match(r"\d{4}-\d\d-\d\dT0[78]:30:00", cron["due"]), cron
    assert "every 1 h" in row(tool, "period") and "in 59 min" in row(tool, "period")
    assert "30 9 * * mon-fri Europe/Berlin" in row(tool, "cron")
    assert "missed:    skip, after 2.5 s" in tool("get", "k", "period")
    tool.fails(2, "minutes", "put", "k", "x", "--cron", "99 * * * *")
    tool.fails(2, "time zone", "put", "k", "x", "--cron", "* * * * *", "--zone", "Nowhere/Else")
    for key in ("cron", "later", "period"):
        tool("remove", "k", key)


def lists_and_counts(tool):
    for key in ("a", "b", "c", "--d"):
        tool("put", "k", "--in", "1h", "--", key)
    tool("put", "l", "e", "--in", "1h")
    keys = [each["key"] for each in tool.entries("k")]
    assert keys == sorted(keys) == ["--d", "a", "b", "c"]
    assert [each["key"] for each in tool.entries("k", "--after", "a", "--limit", "1")] == ["b"]
    assert len(tool("list", "--limit", "3").splitlines()) == 1 + 3
    assert tool("count") == "5\n" and tool("count", "l") == "1\n"
    assert tool("count", "--state", "pending", "--state", "held") == "5\n" and tool("count", "--state=failed") == "0\n"
    for key in ("a", "b", "c"):
        tool("remove", "k", key)
    tool("remove", "k", "--", "--d")
    tool("remove", "l", "e")


def takes_payloads(tool):
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "verbs.py")
    for payload in (b"", b"text", "grüße 世界".encode(), b"a\0b", b"\xff\xfe", HOSTILE.encode(), os.urandom(65536)):
        tool("put", "k", "x", "--in", "1h", "--payload-file", "-", stdin=payload)
        it = json.loads(tool("get", "k", "x", "--json"))
        assert (it["payload"].encode() if "payload" in it else bytes.fromhex(it["payload_hex"])) == payload
        assert is_safe(tool("get", "k", "x")) and is_safe(tool("list")) and is_safe(tool("list", "--json"))
    with open(path, "rb") as file:
        tool("put", "k", "x", "--in", "1h", "--payload-file", path)
        assert json.loads(tool("get", "k", "x", "--json"))["payload"] == file.read().decode()
    tool("put", "k", "x", "--in", "1h", "--payload", "two\nlines\t")
    assert r'payload:   "two\nlines\t"' in tool("get", "k", "x")
    tool("put", "k", "x", "--in", "1h", "--payload-file", "-", stdin=b"\x1bx\0")
    assert "payload:   0x1b7800" in tool("get", "k", "x")
    tool("put", "k", "x", "--in", "1h", "--payload", "世" * 100)
    assert row(tool, "x").endswith("...") and is_safe(row(tool, "x"))
    tool.fails(2, "more than 65536 bytes", "put", "k", "y", "--payload-file", "-", stdin=bytes(65537))
    tool.fails(2, "No such file", "put", "k", "y", "--payload-file", "/does/not/exist")
    tool.fails(2, "directory", "put", "k", "y", "--payload-file", "/")
    tool("remove", "k", "x")


def shows_hostile_names(tool):
    tool("put", HOSTILE, HOSTILE, "--in", "1h")
    assert [(each["kind"], each["key"]) for each in tool.entries()] == [(HOSTILE, HOSTILE)]
    for shown in (tool("list"), tool("get", HOSTILE, HOSTILE), tool("watch", "--once", HOSTILE)):
        assert is_safe(shown), shown
    assert tool("list").count(SHOWN) == 2 and tool("get", HOSTILE, HOSTILE).count(SHOWN) == 2
    tool("remove", HOSTILE, HOSTILE)
    assert SHOWN in tool.fails(3, "", "get", HOSTILE, HOSTILE)
    assert SHOWN in tool.fails(2, "", "list", "k", HOSTILE)
    tool.fails(2, "UTF-8", "put", b"\xff", "x")
    tool.fails(2, "512", "put", "k", "x" * 513)
    tool.fails(2, "empty", "put", "k", "")
    tool("put", "k", "x" * 512, "--in", "1h")
    tool("remove", "k", "x" * 512)


def shows_what_handlers_do(tool):
    with Handler(handler, tool):
        tool("put", "slow", "s")
        tool("put", "held", "h", "--in", "55s")
        tool("put", "bad", "b")
        for kind, state in (("slow", "started"), ("held", "held"), ("bad", "failed")):
            tool.wait_for(1, kind, "--state", state)
        started, = tool.entries("--state", "started")
        assert (started["key"], started["holder"], started["error"]) == ("s", "host\x1b[2J_17", None)
        assert started["token"] > 0
        held, failed = tool.entries("--state", "held", "--state", "failed")[::-1]
        assert (held["key"], failed["key"], failed["attempts"]) == ("h", "b", 1)
        assert failed["error"] == "no \x1b[2Jpaper" and failed["holder"] is None
        time.sleep(1.1)
        shown = tool("watch", "--once")
        assert is_safe(shown) and "0 late, 1 held, 1 started, 1 failed, 0 given up" in shown
        assert "; 1 process is alive\n" in shown and max(len(line) for line in shown.splitlines()) <= 80
        assert re.search(r"slow +s +started +\d\.\d s late +host\\x1b\[2J_17\nheld +h +held +in \d+ s +host\\x1b\[2J_17", shown)
        assert re.search(r"bad +b +failed +\d\.\d s ago +no \\x1b\[2Jpaper", shown)
        assert "nothing is late, held or started" in tool("watch", "none", "--once")
        described = tool("get", "bad", "b")
        assert is_safe(described) and "tries:     1 have failed" in described and r"error:     no \x1b" in described
        assert tool("remove", "slow", "s") == "removed; its handler was started, and may be running\n"
        assert tool("remove", "held", "h") == "removed\n"
    assert tool("requeue", "bad", "b") == "1 requeued\n"
    assert tool("count", "--state", "pending") == "1\n"
    tool("remove", "bad", "b")


def sets_tables_up(tool):
    assert tool("setup", "--schema", "made") == "the tables are there\n"
    assert tool("setup", "--schema", "made") == "the tables are there\n"
    assert tool("count", "--schema", "made") == "0\n"
    tool.fails(2, "SQLite has no roles", "setup", "--role", "app")
    tool.fails(2, "the role is empty", "setup", "--role", "")
    tool.fails(2, "--role does not go with put", "put", "k", "x", "--role", "app")


def refuses_bad_usage(tool):
    for reason, words in {"no verb: list": (), "no verb lst": ("lst",), "no option --what": ("list", "--what"),
                          "no option --kind": ("list", "--kind", "k"),
                          "takes a value": ("list", "--limit"), "takes no value": ("list", "--json=1"),
                          "--limit 0": ("list", "--limit", "0"), "--limit -1": ("list", "--limit=-1"),
                          "--limit 1x": ("list", "--limit", "1x"), "--state late": ("list", "--state", "late"),
                          "given twice": ("list", "--limit", "1", "--limit", "2"), "goes with a kind": ("list", "--after", "x"),
                          "does not go with count": ("count", "--json"), "a kind and a key": ("get", "k"),
                          "unexpected argument: z": ("get", "x", "y", "z"), "not both": ("put", "k", "x", "--in", "1s", "--at",
                                                                             "2026-12-24T18:00:00Z"),
                          "--cron goes without": ("put", "k", "x", "--cron", "* * * * *", "--every", "1h"),
                          "--zone goes with": ("put", "k", "x", "--zone", "UTC"),
                          "shortest period": ("put", "k", "x", "--every", "999us"),
                          "go with --every": ("put", "k", "x", "--grace", "1s"), "--missed all": ("put", "k", "x", "--missed", "all"),
                          "--payload-file, not both": ("put", "k", "x", "--payload", "", "--payload-file", "-"),
                          "--seconds 0": ("watch", "--seconds", "0"), "--seconds nan": ("watch", "--seconds", "nan"),
                          "schema": ("list", "--schema", "No!"), "kind of database": ("list", "--database", "nonsense:x")}.items():
        tool.fails(2, reason, *words)
    nowhere = {k: v for k, v in tool.environment.items() if k != "TICKWHEEL_DATABASE"}
    tool.fails(2, "TICKWHEEL_DATABASE", "list", environment=nowhere)
    assert tool("count", "--database", tool.address, environment=nowhere) == "0\n"
    assert "TICKWHEEL_DATABASE" in tool("list", "--help") and tool("--version").startswith("tickwheel-jobs ")


def tells_errors_of_the_database(tool):
    here = os.path.abspath(__file__)
    for path, verb in (("/does/not/exist", ("list",)), ("/does/not/exist", ("put", "k", "x")), (here, ("list",))):
        said = tool.fails(1, f": {path}", *verb, "--database", f"sqlite:{path}")
        assert "--help" not in said and ("no such file" in said) == (path != here), said
    for kind in ("sqlite:PATH", "sqlite::memory:NAME"):
        assert kind in tool.fails(2, "this build has", "list", "--database", "nonsense:x")
    said = tool.run("list", "--database", "postgresql://user:secret@/x?host=/does/not/exist").stderr
    assert b"secret" not in said
    with open("/dev/full", "wb") as full:
        done = subprocess.run([program, "--schema", tool.schema, "count"], stdout=full, stderr=subprocess.PIPE, env=tool.environment, check=False)
        assert done.returncode == 1 and b"No space left" in done.stderr, done


run(program, (puts_and_removes, knows_times, puts_jobs_that_wait, puts_periodic_jobs, lists_and_counts, takes_payloads,
              shows_hostile_names, shows_what_handlers_do, sets_tables_up, refuses_bad_usage, tells_errors_of_the_database))
