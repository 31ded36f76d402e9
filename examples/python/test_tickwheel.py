"""The tests of tickwheel.py."""

import gc
import os
import random
import subprocess
import sys
import threading
import time
import unittest
import weakref

import tickwheel
from tickwheel import Runtime

PATIENCE = 60  # only a broken test waits this long


class OnVirtualTime(unittest.TestCase):
    def setUp(self):
        self.rt = Runtime("manual")
        self.addCleanup(self.rt.close)
        self.fired = []

    def note(self, what=None):
        self.fired.append((round(self.rt.time(), 6), what))

    def test_fires_once_when_it_is_due(self):
        timer = self.rt.call_later(1.5, self.note, "a")
        self.assertAlmostEqual(timer.remaining(), 1.5)
        self.rt.advance(1.499)
        self.assertEqual(self.fired, [])
        self.rt.advance(100)
        self.assertEqual(self.fired, [(1.5, "a")])
        self.assertFalse(timer.pending())

    def test_fires_at_a_time(self):
        self.rt.call_at(2, self.note)
        self.rt.call_at(-5, self.note)
        self.rt.advance(2)
        self.assertEqual(self.fired, [(0, None), (2, None)])

    def test_fires_in_order_of_time_then_of_arming(self):
        chance = random.Random(1)
        delays = [chance.randrange(100) for _ in range(10_000)]
        for number, delay in enumerate(delays):
            self.rt.call_later(delay / 1000, self.fired.append, (delay, number))
        self.assertEqual(self.rt.count(), 10_000)
        self.rt.advance(1)
        self.assertEqual(self.fired, sorted(self.fired))
        self.assertEqual(len(self.fired), 10_000)

    def test_repeats_without_drift_until_cancelled(self):
        timer = self.rt.every(1 / 60, self.note)
        self.rt.advance(60)
        self.assertEqual(len(self.fired), 3599)  # 1/60 s is 16666667 ns, and rounds up to a tick at the end
        self.assertTrue(timer.cancel())
        self.assertFalse(timer.cancel())
        self.rt.advance(60)
        self.assertEqual(len(self.fired), 3599)

    def test_cancel_tells_whether_it_prevented_a_fire(self):
        early, late = self.rt.call_later(1, self.note, "early"), self.rt.call_later(2, self.note, "late")
        self.rt.advance(1)
        self.assertFalse(early.cancel())
        self.assertTrue(late.cancel())
        self.rt.advance(9)
        self.assertEqual(self.fired, [(1, "early")])

    def test_may_cancel_and_arm_in_a_callback(self):
        def again():
            self.note("again")
            victim.cancel()
            if len(self.fired) < 3:
                self.rt.call_later(1, again)

        victim = self.rt.call_later(1, self.note, "victim")
        self.rt.call_at(0.5, again)
        self.rt.advance(9)
        self.assertEqual([when for when, _ in self.fired], [0.5, 1.5, 2.5])

    def test_keeps_a_pending_timer_and_lets_go_of_it_afterwards(self):
        class Callback:
            def __init__(self, fired):
                self.fired = fired

            def __call__(self):
                self.fired.append("kept")

        once, cancelled, periodic, closed = (Callback(self.fired) for _ in range(4))
        gone = [weakref.ref(each) for each in (once, cancelled, periodic, closed)]
        self.rt.call_later(1, once)
        self.rt.call_later(1, cancelled).cancel()
        beat = self.rt.every(1, periodic)
        self.rt.call_later(9, closed)
        del once, cancelled, periodic, closed
        gc.collect()
        self.assertEqual([ref() is None for ref in gone], [False, True, False, False])
        self.rt.advance(1)
        self.assertEqual(self.fired, ["kept", "kept"])
        beat.cancel()
        del beat
        gc.collect()
        self.assertEqual([ref() is None for ref in gone], [True, True, True, False])
        self.rt.close()
        gc.collect()
        self.assertIsNone(gone[3]())
        self.assertEqual(tickwheel._pending, {})

    def test_reports_exceptions_and_goes_on(self):
        seen = []
        former, sys.unraisablehook = sys.unraisablehook, lambda args: seen.append(args.exc_type)
        try:
            self.rt.every(1, lambda: 1 // 0)
            self.rt.advance(2)
        finally:
            sys.unraisablehook = former
        self.assertEqual(seen, [ZeroDivisionError, ZeroDivisionError])

    def test_an_interrupt_ends_the_call_that_drives(self):
        def interrupt():
            raise KeyboardInterrupt

        self.rt.call_later(1, interrupt)
        with self.assertRaises(KeyboardInterrupt):
            self.rt.advance(1)
        self.rt.advance(1)

    def test_refuses_what_the_library_refuses(self):
        for mistake in (
            lambda: self.rt.call_later(-1, self.note),
            lambda: self.rt.every(0, self.note),
            lambda: self.rt.start(),
            lambda: self.rt.dispatch(),
            lambda: Runtime("hourglass"),
        ):
            with self.assertRaises(OSError):
                mistake()
        for mistake in (lambda: self.rt.call_later(1, None), lambda: self.rt.call_later("1", self.note)):
            with self.assertRaises(TypeError):
                mistake()
        with self.assertRaises(ValueError):
            self.rt.call_later(float("nan"), self.note)
        self.assertEqual(self.rt.count(), 0)
        self.assertEqual(tickwheel._pending, {})

    def test_is_over_when_it_is_closed(self):
        timer = self.rt.call_later(1, self.note)
        self.rt.close()
        self.rt.close()
        self.assertFalse(timer.cancel())
        self.assertIsNone(timer.remaining())
        with self.assertRaises(ValueError):
            self.rt.call_later(1, self.note)

    def test_may_be_closed_in_a_callback(self):
        self.rt.call_later(1, self.rt.close)
        self.rt.call_later(1, self.note)
        self.rt.advance(1)
        self.assertEqual(self.fired, [])


class OnAThread(unittest.TestCase):
    def test_is_never_early_and_none_is_lost(self):
        early, left, over = [], [10_000], threading.Event()

        def check(deadline):
            if time.monotonic() < deadline:
                early.append(deadline)
            left[0] -= 1  # callbacks run one at a time
            if left[0] == 0:
                over.set()

        with Runtime() as rt:
            for number in range(10_000):
                delay = number % 250 / 1000
                rt.call_later(delay, check, time.monotonic() + delay - 1e-9)  # rounded to nanoseconds
            self.assertTrue(over.wait(PATIENCE))
        self.assertEqual(early, [])

    def test_cancel_wait_waits_for_the_callback(self):
        begun, ended = threading.Event(), []

        def slow():
            begun.set()
            time.sleep(0.05)
            ended.append(True)

        with Runtime("epoll") as rt:
            timer = rt.every(0.001, slow)
            self.assertTrue(begun.wait(PATIENCE))
            timer.cancel_wait()
            self.assertTrue(ended)
            seen = len(ended)
            time.sleep(0.02)
            self.assertEqual(len(ended), seen)

    def test_threads_cancel_against_fires(self):
        counts = {"fired": 0, "cancelled": 0}

        def fired():
            counts["fired"] += 1

        def hammer(rt, seed):
            chance = random.Random(seed)
            for _ in range(1000):
                timer = rt.call_later(chance.random() / 2000, fired)
                time.sleep(chance.random() / 5000)
                if timer.cancel_wait():
                    with lock:
                        counts["cancelled"] += 1

        lock = threading.Lock()
        with Runtime(tick=1e-5) as rt:
            threads = [threading.Thread(target=hammer, args=(rt, seed)) for seed in range(4)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            self.assertEqual(rt.count(), 0)
        self.assertEqual(counts["fired"] + counts["cancelled"], 4000)
        self.assertEqual(tickwheel._pending, {})

    def test_the_last_reference_to_a_periodic_timer_may_go_while_it_runs(self):
        with Runtime(tick=1e-5) as rt:
            for _ in range(300):
                timer = rt.every(1e-5, lambda: None)
                time.sleep(0.0001)
                timer.cancel()
                del timer


class AtTheEnd(unittest.TestCase):
    """Programs that end with timers pending, or running."""

    def run_program(self, text):
        here = os.path.dirname(os.path.abspath(__file__))
        return subprocess.run(
            [sys.executable, "-c", "import os, sys, time, tickwheel\n" + text],
            env={**os.environ, "PYTHONPATH": here}, capture_output=True, text=True, timeout=PATIENCE, check=False,
        )  # fmt: skip

    def expect_a_quiet_end(self, text):
        ended = self.run_program(text)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_with_timers_pending(self):
        self.expect_a_quiet_end("rt = tickwheel.Runtime()\nrt.every(0.001, len, 'x')\nrt.call_later(9, len, 'x')")

    def test_with_fast_timers_that_fire_all_the_time(self):
        for _ in range(5):
            self.expect_a_quiet_end(
                "for _ in range(3):\n"
                "    rt = tickwheel.Runtime('epoll', tick=1e-5)\n"
                "    for _ in range(50): rt.every(1e-5, len, 'x')\n"
                "time.sleep(0.02)"
            )

    def test_inside_a_callback_that_runs(self):
        self.expect_a_quiet_end("rt = tickwheel.Runtime()\nrt.call_later(0, time.sleep, 0.1)\ntime.sleep(0.02)")

    def test_in_a_forked_child(self):
        self.expect_a_quiet_end(
            "rt = tickwheel.Runtime()\nrt.every(0.001, len, 'x')\n"
            "child = os.fork()\n"
            "if child == 0: sys.exit(0)\n"
            "assert os.waitpid(child, 0)[1] == 0"
        )


if __name__ == "__main__":
    unittest.main()
