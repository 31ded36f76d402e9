"""test_durable.py GUIDE ADDRESS: the package's durable jobs, on the database at the address."""

import asyncio
import contextlib
import errno
import gc
import os
import re
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
from datetime import datetime, timedelta, timezone
from pathlib import Path

from tickwheel.durable import Event, Job, Jobs, State, again

GUIDE, ADDRESS = Path(sys.argv[1]), sys.argv[2]


def eventually(is_so, seconds=60):
    until = time.monotonic() + seconds
    while not is_so():
        if time.monotonic() > until:
            raise AssertionError("not in time")
        time.sleep(0.01)


class OnVirtualTime(unittest.TestCase):
    def setUp(self):
        self.jobs = Jobs("sqlite::memory:", virtual=True, poll=30, lease=3600)
        self.addCleanup(self.jobs.close)
        self.fires = []

    def note(self, kind="k", answer=None, **how):
        @self.jobs.handler(kind, **how)
        def on_fire(fire):
            self.fires.append(fire)
            return answer(fire) if answer else None

    def test_a_fire_tells_what_it_is_for(self):
        self.note()
        due = self.jobs.now() + timedelta(minutes=3)
        self.jobs.put("k", "17", {"cents": 250}, delay=180)
        self.jobs.advance(179)
        self.assertEqual(self.fires, [])
        self.jobs.advance(2)
        (fire,) = self.fires
        self.assertEqual((fire.kind, fire.key, fire.json(), fire.due), ("k", "17", {"cents": 250}, due))
        self.assertEqual((fire.attempt, fire.overruns), (1, 0))
        self.assertGreater(fire.token, 0)
        self.assertEqual(fire.lease(), 0)  # it has its answer
        self.assertEqual(self.jobs.count(), 0)

    def test_a_payload_is_bytes_text_or_json(self):
        for key, payload in ("1", b"\0\xff"), ("2", "Ä"), ("3", [1, "zwei"]), ("4", b""):
            self.jobs.put("k", key, payload, delay=60)
        entries = self.jobs.list()
        self.assertEqual([each.payload for each in entries], [b"\0\xff", "Ä".encode(), b'[1, "zwei"]', b""])
        self.assertEqual((entries[1].text(), entries[2].json()), ("Ä", [1, "zwei"]))

    def test_again_is_no_failure(self):
        self.note(answer=lambda fire: again(10) if len(self.fires) < 3 else None)
        self.jobs.put("k", "17")
        self.jobs.advance(15)
        self.assertEqual(len(self.fires), 2)
        self.jobs.advance(15)
        self.assertEqual([fire.attempt for fire in self.fires], [1, 1, 1])
        self.assertEqual(self.jobs.stats()["again"], 2)

    def test_limits(self):
        self.note("mail", running=1, rate=2, per=60)
        for key in range(5):
            self.jobs.put("mail", str(key))
        self.jobs.advance(59)
        self.assertEqual(len(self.fires), 2)
        self.jobs.advance(60)
        self.assertEqual(len(self.fires), 4)
        with self.assertRaises(ValueError):
            self.note("wrong", per=0.0001)

    def test_an_exception_is_a_failed_try_with_its_text(self):
        broken = True

        def fail(fire):
            if broken:
                raise OSError(errno.EIO, "no paper")

        self.note(answer=fail, attempts=2, backoff=5)
        self.note("silent", answer=lambda fire: {}[0], attempts=1)
        self.note("wrong", answer=lambda fire: 17, attempts=1)
        for kind in "k", "silent", "wrong":
            self.jobs.put(kind, "17")
        self.jobs.advance(20)
        entry = self.jobs.get("k", "17")
        self.assertEqual((entry.state, entry.attempts, entry.error), (State.FAILED, 2, "[Errno 5] no paper"))
        self.assertEqual(self.jobs.get("silent", "17").error, "0")
        self.assertIn("not 17", self.jobs.get("wrong", "17").error)
        self.assertEqual(self.jobs.count(states=State.FAILED), 3)
        broken = False
        self.assertEqual(self.jobs.requeue("k", "18"), 0)
        self.assertEqual(self.jobs.requeue("k"), 1)
        self.jobs.advance(1)
        self.assertIsNone(self.jobs.get("k", "17"))

    def test_periodic_jobs(self):
        self.note()
        self.jobs.put("k", "period", delay=3600, every=timedelta(hours=1), missed="skip")
        self.jobs.put("k", "cron", cron="0 0 * * *", zone="Europe/Berlin", keep=True)
        entry = self.jobs.get("k", "cron")
        self.assertEqual((entry.cron, entry.zone, entry.every), ("0 0 * * *", "Europe/Berlin", timedelta(0)))
        self.assertEqual(entry.due, datetime(1970, 1, 1, 23, tzinfo=timezone.utc))
        self.jobs.advance(24 * 3600 + 60)
        self.assertEqual([fire.key for fire in self.fires].count("period"), 24)
        self.assertEqual([fire.key for fire in self.fires].count("cron"), 1)
        self.assertEqual(self.jobs.get("k", "period").every, timedelta(hours=1))

    def test_a_job_waits_for_a_group(self):
        self.note()
        self.jobs.put_many([Job("k", "last", waits_for="g"), Job("k", "1", group="g"), Job("k", "2", delay=60, group="g")])
        self.jobs.advance(30)
        last = self.jobs.get("k", "last")
        self.assertEqual((last.state, last.ready, last.waits_for, last.group), (State.WAITING, None, "g", None))
        self.assertEqual([entry.key for entry in self.jobs.list(group="g")], ["2"])
        self.assertEqual((self.jobs.count(group="g"), self.jobs.count(states=State.WAITING)), (1, 1))
        self.jobs.advance(60)
        self.assertEqual([fire.key for fire in self.fires], ["1", "2", "last"])

    def test_puts_have_an_end(self):
        self.note()
        for _ in range(10):
            self.jobs.put("k", "save", delay=5, within=timedelta(seconds=8))
            self.jobs.advance(1)
        self.assertEqual(len(self.fires), 1)

    def test_a_coroutine_runs_to_its_end(self):
        @self.jobs.handler("k")
        async def on_fire(fire):
            await asyncio.sleep(0)
            self.fires.append(fire)
            return again(3600)

        self.jobs.put("k", "17")
        self.jobs.advance(1)
        self.assertEqual(len(self.fires), 1)
        self.assertEqual(self.jobs.stats()["again"], 1)

    def test_a_handler_may_use_the_connection(self):
        def put_another(fire):
            if fire.key == "1":
                self.jobs.put("k", "2")

        self.note(answer=put_another)
        self.jobs.put("k", "1")
        self.jobs.advance(1)
        self.assertEqual([fire.key for fire in self.fires], ["1", "2"])

    def test_a_handler_must_not_close_its_connection(self):
        seen = []

        def close(fire):
            try:
                self.jobs.close()
            except OSError as error:
                seen.append(error.errno)

        self.note(answer=close)
        self.jobs.put("k", "1")
        self.jobs.advance(1)
        self.assertEqual(seen, [errno.EBUSY])
        self.assertEqual(self.jobs.count(), 0)

    def test_bad_arguments_are_refused_with_a_reason(self):
        for wrong, why in (
            ({"cron": "61 * * * *"}, "minutes"),
            ({"delay": -1}, ""),
            ({"at": datetime(2026, 1, 1)}, "time zone"),
            ({"at": datetime(2026, 1, 1, tzinfo=timezone.utc), "delay": 1}, "a delay and a time"),
            ({"missed": "sometimes"}, "coalesce"),
            ({"cron": "* * * * *", "zone": "Nowhere"}, ""),
        ):
            with self.assertRaisesRegex(ValueError, why):
                self.jobs.put("k", "x", **wrong)
        for kind, key in ("", "x"), ("k", "x\0y"):
            with self.assertRaises(ValueError):
                self.jobs.put(kind, key)
        with self.assertRaises(TypeError):
            self.jobs.put("k", "x", payload=object())
        self.note()
        with self.assertRaises(ValueError):
            self.note()
        with self.assertRaisesRegex(OSError, "sqlite"):
            Jobs("nonsense:")
        with self.assertRaises(ValueError):
            Jobs("sqlite::memory:", lease=-1, virtual=True)
        self.assertEqual(self.jobs.count(), 0)


class OnADatabase(unittest.TestCase):
    def setUp(self):
        self.jobs = Jobs(ADDRESS, lease=3, threads=2)
        self.addCleanup(self.jobs.close)
        for entry in self.jobs.list():
            self.jobs.cancel(entry.kind, entry.key)

    def test_a_job_is_replaced_or_kept_or_removed(self):
        at = datetime(2100, 1, 1, tzinfo=timezone.utc)
        self.assertTrue(self.jobs.add("k", "x", "1", at=at))
        self.jobs.put("k", "x", "2", at=at)
        self.jobs.put("k", "x", "3", at=at, keep=True)
        self.assertFalse(self.jobs.add("k", "x", "4"))
        entry = self.jobs.get("k", "x")
        self.assertEqual((entry.text(), entry.due, entry.state, entry.holder), ("2", at, State.PENDING, None))
        self.assertTrue(self.jobs.cancel("k", "x"))
        self.assertFalse(self.jobs.cancel("k", "x"))
        self.assertIsNone(self.jobs.get("k", "x"))

    def test_batches_lists_and_filters(self):
        self.jobs.put_many(Job("k", key, delay=3600) for key in "abcd")
        self.jobs.put_many([])
        with self.assertRaises(ValueError):
            self.jobs.put_many([Job("k", "e"), Job("", "f")])
        self.jobs.put("l", "e", delay=3600)
        self.assertEqual([each.key for each in self.jobs.list("k", after="a", limit=2)], ["b", "c"])
        self.assertEqual((self.jobs.count(), self.jobs.count("k"), self.jobs.count(states=State.HELD)), (5, 4, 0))

    def test_lists_by_ready_time(self):
        now = self.jobs.now()
        self.jobs.put_many(Job(kind, key, at=now + timedelta(minutes=minutes))
                           for kind, key, minutes in (("b", "1", 1), ("a", "2", 2), ("b", "3", 2), ("a", "4", 3)))

        def keys(kind=None, **chosen):
            return "".join(each.key for each in self.jobs.list(kind, **chosen))

        self.assertEqual(keys(ready_before=now + timedelta(minutes=2)), "1")
        self.assertEqual(keys(ready_before=datetime.max), "1234")
        rest = {"ready_from": now + timedelta(minutes=2), "after_kind": "a", "after": "2"}
        self.assertEqual(keys(ready_before=datetime.max, **rest), "34")
        self.assertEqual(keys(after_kind="a", after="2"), "413")
        self.assertEqual(self.jobs.count("b", ready_before=now + timedelta(minutes=2)), 1)
        self.assertEqual(self.jobs.count(ready_before=datetime(1970, 1, 1, tzinfo=timezone.utc)), 0)
        with self.assertRaisesRegex(ValueError, "time zone"):
            self.jobs.count(ready_before=datetime(2026, 1, 1))
        with self.assertRaises(TypeError):
            self.jobs.count(reddy_before=datetime.max)

    def test_many_jobs_are_removed_and_requeued(self):
        with Jobs(ADDRESS) as worker:
            @worker.handler("bad", attempts=1)
            def on_fire(fire):
                raise RuntimeError("no paper")

            worker.start()
            self.jobs.put_many(Job("bad", key) for key in "123")
            self.jobs.put("other", "x", delay=3600)
            eventually(lambda: self.jobs.count(states=State.FAILED) == 3)
        self.assertEqual(self.jobs.requeue_many("other"), 0)
        self.assertEqual(self.jobs.requeue_many("bad", limit=2), 2)
        self.assertEqual(self.jobs.cancel_many(states=State.FAILED), 1)
        self.assertEqual(self.jobs.cancel_many("bad"), 2)
        self.assertEqual(self.jobs.count(), 1)
        self.assertEqual(self.jobs.cancel_many(), 1)

    def test_a_job_fires_on_demand(self):
        self.jobs.put("k", "x", delay=3600)
        due = self.jobs.get("k", "x").due
        self.assertIs(self.jobs.fire_now("k", "x"), True)
        entry = self.jobs.get("k", "x")
        self.assertEqual(entry.due, due)
        self.assertLess(entry.ready, due)
        with self.assertRaises(FileNotFoundError):
            self.jobs.fire_now("k", "y")
        begun, end = threading.Event(), threading.Event()
        with Jobs(ADDRESS) as worker:
            @worker.handler("k")
            def on_fire(fire):
                begun.set()
                end.wait(60)

            worker.start()
            self.assertTrue(begun.wait(60))
            self.assertIs(self.jobs.fire_now("k", "x"), False)
            end.set()

    def test_says_why_a_job_has_not_run(self):
        self.jobs.put("k", "x", delay=7200)
        self.assertRegex(self.jobs.why("k", "x"), r"^It is not due: it fires in 1 h 59 min, at .*\.$")
        self.assertRegex(self.jobs.why("k", "y"), "^There is no job of this name")
        with self.assertRaises(ValueError):
            self.jobs.why("k", "")

    def test_counts_by_kind_and_tells_the_members(self):
        now = self.jobs.now()
        self.jobs.put("a", "1", at=now + timedelta(minutes=1))
        self.jobs.put("a", "2", at=now + timedelta(hours=1))
        begun, end = threading.Event(), threading.Event()
        with Jobs(ADDRESS, name="A", horizon=60) as worker:
            @worker.handler("k")
            def on_fire(fire):
                begun.set()
                end.wait(60)

            worker.start()
            self.jobs.put("k", "1")
            self.jobs.put("k", "2", delay=50)
            self.assertTrue(begun.wait(60))
            eventually(lambda: self.jobs.get("k", "2").state == State.HELD)
            eventually(lambda: [each for each in self.jobs.members() if each.name == "A" and each.kinds])
            (member,) = (each for each in self.jobs.members() if each.name == "A")
            self.assertEqual((member.held, member.started, member.dead, member.kinds), (1, 1, False, ("k",)))
            self.assertEqual(self.jobs.get("k", "2").holder_id, member.id)
            self.assertGreater(member.lease_end, now)
            self.assertGreater(member.lease_end, member.joined)
            self.assertLess(abs(member.clock_offset), timedelta(minutes=1))
            first, second = self.jobs.tallies([now + timedelta(minutes=2)])
            self.assertEqual((first.kind, first.pending, first.first_ready), ("a", (1, 1), now + timedelta(minutes=1)))
            self.assertEqual((second.kind, second.held, second.started, second.pending), ("k", 1, 1, (0, 0)))
            self.assertEqual((second.failed, second.given_up, second.first_ready), (0, 0, None))
            self.assertEqual(self.jobs.tallies(most=1)[0].pending, (1,))
            end.set()
        with self.assertRaises(ValueError):
            self.jobs.tallies([now, now])

    def test_the_backlog_bounds_how_many_late_jobs_are_held(self):
        late = self.jobs.now() - timedelta(seconds=10)
        self.jobs.put_many(Job("k", str(number), at=late) for number in range(40))
        end = threading.Event()
        with Jobs(ADDRESS, threads=1, backlog=7) as worker:
            worker.handler("k")(lambda fire: end.wait(60) and None)
            worker.start()
            eventually(lambda: worker.stats()["held"] == 7)  # without the option 2 or fewer
            self.jobs.cancel_many(states=State.PENDING)
            end.set()

    def test_handlers_run_on_threads_and_the_close_waits_for_them(self):
        begun, ended, names = threading.Event(), [], set()
        events = []
        with Jobs(ADDRESS, threads=2, on_event=lambda event, why: events.append(event)) as worker:
            @worker.handler("k")
            def on_fire(fire):
                names.add(threading.current_thread().name)
                self.assertGreater(fire.lease(), 0)
                begun.set()
                time.sleep(0.3)
                worker.put("done", fire.key, delay=3600)  # while the connection closes
                ended.append(fire.key)

            worker.start()
            self.jobs.put("k", "17")
            self.assertTrue(begun.wait(60))
            self.assertEqual(self.jobs.get("k", "17").state, State.STARTED)
        self.assertEqual(ended, ["17"])
        self.assertNotIn("MainThread", names)
        self.assertIn(Event.CONNECTED, events)
        self.assertEqual((self.jobs.count("k"), self.jobs.count("done")), (0, 1))
        with self.assertRaisesRegex(ValueError, "closed"):
            worker.count()

    def test_a_hundred_coroutines_hold_no_thread(self):
        begun, together = [], threading.Event()
        with Jobs(ADDRESS, threads=1) as worker:
            gate = asyncio.Event()

            @worker.handler("k")
            async def on_fire(fire):
                begun.append(fire.key)
                if len(begun) == 100:
                    together.set()
                    gate.set()
                await gate.wait()
                await asyncio.sleep(0.1)
                if fire.key == "7":
                    raise RuntimeError("no paper")
                return again(3600) if fire.key == "8" else None

            worker.start()
            self.jobs.put_many(Job("k", str(number)) for number in range(100))
            self.assertTrue(together.wait(60))
        self.assertEqual([each.key for each in self.jobs.list("k")], ["7", "8"])
        self.assertEqual(self.jobs.get("k", "7").error, "no paper")

    @unittest.skipUnless(ADDRESS.startswith("sqlite:"), "another connection locks the file")
    def test_other_threads_run_while_a_call_waits(self):
        with contextlib.closing(sqlite3.connect(ADDRESS.removeprefix("sqlite:"), isolation_level=None)) as other:
            other.execute("begin immediate")
            putter = threading.Thread(target=self.jobs.put, args=("k", "x"), kwargs={"delay": 3600})
            putter.start()
            time.sleep(0.1)  # so that it waits, as it does for up to 5 s
            begun = time.monotonic()
            other.execute("rollback")
            putter.join()
        self.assertLess(time.monotonic() - begun, 4)
        self.assertEqual(self.jobs.count("k"), 1)

    def test_a_relative_path_outlasts_a_change_of_folder(self):
        here = os.getcwd()
        fired = threading.Event()
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            try:
                jobs = Jobs("sqlite:jobs.db")
            finally:
                os.chdir(here)
            with jobs:
                jobs.handler("k")(lambda fire: fired.set())
                jobs.start()
                jobs.put("k", "x")
                self.assertTrue(fired.wait(60))
            self.assertFalse(Path("jobs.db").exists())

    def test_threads_share_a_connection(self):
        fired = []
        with Jobs(ADDRESS) as worker:
            worker.handler("k")(lambda fire: fired.append(fire.key))
            worker.start()

            def put(first):
                for number in range(first, first + 20):
                    worker.put("k", str(number))

            threads = [threading.Thread(target=put, args=(first,)) for first in range(0, 80, 20)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            eventually(lambda: len(set(fired)) == 80)
        self.assertEqual(self.jobs.count("k"), 0)

    def test_the_child_of_a_fork_is_refused(self):
        child = os.fork()
        if child == 0:
            try:
                self.jobs.put("k", "x")
            except ChildProcessError as error:
                os._exit(0 if "fork" in str(error) else 1)
            os._exit(2)
        self.assertEqual(os.waitpid(child, 0)[1], 0)
        self.assertEqual(self.jobs.count(), 0)

    def test_a_forgotten_connection_is_closed(self):
        Jobs(ADDRESS).put("k", "x", delay=3600)
        gc.collect()
        self.assertEqual(self.jobs.count(), 1)


WORKER = """
import os, sys, time
from tickwheel.durable import Jobs
jobs = Jobs(sys.argv[1], lease=2)
@jobs.handler("order")
def on_order(fire):
    if fire.key == "crash" and fire.attempt <= 2:
        os._exit(1)
    time.sleep(0.02)
    with open(sys.argv[3], "a") as log:
        log.write(f"{os.getpid()} {fire.key}\\n")
@jobs.handler("slow")
def on_slow(fire):
    with open(sys.argv[3], "a") as log:
        log.write("0 slow\\n")
    time.sleep(1)
jobs.run(processes=int(sys.argv[2]))
print("closed")
"""


class WithoutTheLibrary(unittest.TestCase):
    def test_the_import_says_what_is_missing(self):
        program = "import sys; sys.modules['tickwheel._durable'] = None; import tickwheel.durable"
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
        self.assertIn("ImportError: this package was built without durable jobs: install libtickwheel-durable-dev",
                      done.stderr)


class AsAService(unittest.TestCase):
    def setUp(self):
        self.jobs = Jobs(ADDRESS)
        self.addCleanup(self.jobs.close)
        for entry in self.jobs.list():
            self.jobs.cancel(entry.kind, entry.key)
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.log = Path(folder.name) / "log"
        self.log.touch()

    def begin(self, *command):
        process = subprocess.Popen([sys.executable, "-c", *command], stdout=subprocess.PIPE, text=True)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def stop(self, process, number=signal.SIGTERM):
        process.send_signal(number)
        self.assertEqual(process.wait(60), 0)

    def lines(self):
        return self.log.read_text().splitlines()

    def test_one_process_finishes_its_handlers_when_it_is_told_to_stop(self):
        for number in signal.SIGTERM, signal.SIGINT:
            process = self.begin(WORKER, ADDRESS, "1", self.log)
            self.jobs.put("slow", "17")
            eventually(lambda: "0 slow" in self.lines())
            self.stop(process, number)
            self.assertEqual(process.stdout.read(), "closed\n")
            self.assertEqual(self.jobs.count(), 0)
            self.log.write_text("")

    def test_several_processes_share_the_jobs_and_one_that_crashes_is_started_again(self):
        process = self.begin(WORKER, ADDRESS, "2", self.log)
        self.jobs.put("order", "crash")  # ends both processes, or one twice
        self.jobs.put_many(Job("order", str(number), delay=number / 100) for number in range(200))
        eventually(lambda: self.jobs.count() == 0)
        self.stop(process)
        self.assertLessEqual({"crash", *map(str, range(200))}, {line.split()[1] for line in self.lines()})
        self.assertGreater(len({line.split()[0] for line in self.lines()}), 1)

    def test_the_guides_service(self):
        program = re.search(r"^```python reminders\.py\n(.*?)^```$", GUIDE.read_text("utf-8"), re.S | re.M)[1]
        environment = {**os.environ, "TICKWHEEL_DATABASE": ADDRESS}
        self.jobs.put("unpaid", "17", {"cents": 250})
        process = subprocess.Popen([sys.executable, "-u", "-c", program], stdout=subprocess.PIPE, text=True,
                                   env=environment)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.kill)
        self.assertEqual(process.stdout.readline(), "order 17: 250 cents are unpaid\n")
        self.stop(process)
        self.assertEqual(self.jobs.count(), 0)


unittest.main(argv=sys.argv[:1] + sys.argv[3:], verbosity=2)
