"""The tests of TimerWheel, and of the stubs."""

import ast
import gc
import os
import random
import select
import signal
import subprocess
import sys
import threading
import time
import unittest
import weakref
from pathlib import Path

import tickwheel.asyncio
from tickwheel import TimerWheel

PATIENCE = 60  # only a broken test waits this long


def slow_callback():
    """Returns an event that is set when the callback begins, a list that is not empty once it has ended, and the
    callback."""
    begun, ended = threading.Event(), []

    def slow():
        begun.set()
        time.sleep(0.05)
        ended.append(True)

    return begun, ended, slow


class OnVirtualTime(unittest.TestCase):
    def setUp(self):
        self.wheel = TimerWheel("virtual")
        self.addCleanup(self.wheel.close)
        self.fired = []

    def note(self, what=None):
        self.fired.append((round(self.wheel.time(), 6), what))

    def test_fires_once_when_it_is_due(self):
        timer = self.wheel.call_later(1.5, self.note, "a")
        self.assertAlmostEqual(timer.remaining(), 1.5)
        self.wheel.advance(1.499)
        self.assertEqual(self.fired, [])
        self.wheel.advance(100)
        self.assertEqual(self.fired, [(1.5, "a")])
        self.assertFalse(timer.pending())

    def test_is_not_early_by_a_part_of_a_tick(self):
        self.wheel.call_later(1.5e-6, self.note)
        self.wheel.advance(1.499e-6)
        self.assertEqual(self.fired, [])
        self.wheel.advance(1e-6)
        self.assertEqual(self.fired, [(2e-6, None)])

    def test_fires_at_a_time(self):
        self.wheel.call_at(2, self.note)
        self.wheel.call_at(-5, self.note)
        self.wheel.advance(2)
        self.assertEqual(self.fired, [(0, None), (2, None)])

    def test_fires_in_order_of_time_then_of_arming(self):
        chance = random.Random(1)
        delays = [chance.randrange(100) for _ in range(10_000)]
        for number, delay in enumerate(delays):
            self.wheel.call_later(delay / 1000, self.fired.append, (delay, number))
        self.assertEqual(len(self.wheel), 10_000)
        self.wheel.advance(1)
        self.assertEqual(self.fired, sorted(self.fired))
        self.assertEqual(len(self.fired), 10_000)

    def test_repeats_without_drift_until_cancelled(self):
        timer = self.wheel.every(1 / 60, self.note)
        self.wheel.advance(60)
        self.assertEqual(len(self.fired), 3599)  # 1/60 s is 16666667 ns
        self.assertTrue(timer.cancel())
        self.assertFalse(timer.cancel())
        self.wheel.advance(60)
        self.assertEqual(len(self.fired), 3599)

    def test_cancel_tells_whether_it_prevented_a_fire(self):
        early, late = self.wheel.call_later(1, self.note, "early"), self.wheel.call_later(2, self.note, "late")
        self.wheel.advance(1)
        self.assertFalse(early.cancel())
        self.assertTrue(late.cancel())
        self.wheel.advance(9)
        self.assertEqual(self.fired, [(1, "early")])

    def test_may_cancel_and_arm_in_a_callback(self):
        def again():
            self.note("again")
            victim.cancel()
            if len(self.fired) < 3:
                self.wheel.call_later(1, again)

        victim = self.wheel.call_later(1, self.note, "victim")
        self.wheel.call_at(0.5, again)
        self.wheel.advance(9)
        self.assertEqual([when for when, _ in self.fired], [0.5, 1.5, 2.5])

    def test_keeps_a_pending_timer_and_lets_go_of_it_afterwards(self):
        class Callback:
            def __init__(self, fired):
                self.fired = fired

            def __call__(self):
                self.fired.append("kept")

        once, cancelled, periodic, closed = (Callback(self.fired) for _ in range(4))
        gone = [weakref.ref(each) for each in (once, cancelled, periodic, closed)]
        self.wheel.call_later(1, once)
        self.wheel.call_later(1, cancelled).cancel()
        beat = self.wheel.every(1, periodic)
        self.wheel.call_later(9, closed)
        del once, cancelled, periodic, closed
        gc.collect()
        self.assertEqual([ref() is None for ref in gone], [False, True, False, False])
        self.wheel.advance(1)
        self.assertEqual(self.fired, ["kept", "kept"])
        beat.cancel()
        del beat
        gc.collect()
        self.assertEqual([ref() is None for ref in gone], [True, True, True, False])
        self.wheel.close()
        gc.collect()
        self.assertIsNone(gone[3]())

    def test_reports_exceptions_and_goes_on(self):
        seen = []
        former, sys.unraisablehook = sys.unraisablehook, lambda args: seen.append(args.exc_type)
        try:
            self.wheel.every(1, lambda: 1 // 0)
            self.wheel.advance(2)
        finally:
            sys.unraisablehook = former
        self.assertEqual(seen, [ZeroDivisionError, ZeroDivisionError])

    def test_an_interrupt_ends_the_call_that_drives(self):
        def interrupt():
            raise KeyboardInterrupt

        self.wheel.call_later(1, interrupt)
        with self.assertRaises(KeyboardInterrupt):
            self.wheel.advance(1)
        self.wheel.advance(1)

    def test_refuses_mistakes(self):
        for mistake in (
            lambda: self.wheel.call_later(-1, self.note),
            lambda: self.wheel.call_later(float("nan"), self.note),
            lambda: self.wheel.every(0, self.note),
            lambda: self.wheel.dispatch(),
            lambda: self.wheel.fileno(),
            lambda: TimerWheel("loop").advance(1),
            lambda: TimerWheel("hourglass"),
        ):
            with self.assertRaises(ValueError):
                mistake()
        for mistake in (
            lambda: self.wheel.call_later(1, None),
            lambda: self.wheel.call_later("1", self.note),
            lambda: self.wheel.call_later(1),
            lambda: tickwheel.Timer(),
        ):
            with self.assertRaises(TypeError):
                mistake()
        self.assertEqual(len(self.wheel), 0)

    def test_is_over_when_it_is_closed(self):
        timer = self.wheel.call_later(1, self.note)
        self.wheel.close()
        self.wheel.close()
        self.assertFalse(timer.cancel())
        self.assertIsNone(timer.remaining())
        with self.assertRaises(ValueError):
            self.wheel.call_later(1, self.note)

    def test_lists_pending_timers_in_order_of_time(self):
        for delay in (3, 1, 2):
            self.wheel.call_later(delay, self.note, delay)
        beat = self.wheel.every(1.5, self.note)
        self.assertEqual([timer.when() for timer in self.wheel.pending()], [1, 1.5, 2, 3])
        self.assertEqual(self.wheel.pending()[3].callback, self.note)
        self.assertEqual(self.wheel.pending()[3].args, (3,))
        self.assertIn("when=3.0", repr(self.wheel.pending()[3]))
        self.wheel.advance(2)
        self.assertEqual([timer.when() for timer in self.wheel.pending()], [3, 3])
        self.assertIn(beat, self.wheel.pending())
        beat.cancel()
        self.assertEqual((beat.when(), beat.remaining()), (None, None))
        self.assertIn("idle", repr(beat))

    def test_moves_a_pending_timer(self):
        timer = self.wheel.call_later(1, self.note, "moved")
        self.assertTrue(timer.move(5))
        self.wheel.advance(2)
        self.assertTrue(timer.move(1))
        self.wheel.advance(9)
        self.assertEqual(self.fired, [(3, "moved")])
        self.assertFalse(timer.move(1))
        beat = self.wheel.every(2, self.note)
        beat.move(1)
        self.wheel.advance(3)
        self.assertEqual([when for when, _ in self.fired[1:]], [12, 14])

    def test_an_endless_time_never_comes(self):
        timer = self.wheel.call_later(float("inf"), self.note)
        self.wheel.advance(1e9)
        self.assertTrue(timer.pending())
        self.assertEqual(self.fired, [])

    def test_is_not_driven_twice(self):
        refused = []

        def drive():
            try:
                self.wheel.advance(1)
            except RuntimeError as error:
                refused.append(error)

        self.wheel.call_later(1, drive)
        self.wheel.advance(1)
        self.assertEqual(len(refused), 1)

    def test_is_true_without_timers(self):
        self.assertEqual(len(self.wheel), 0)
        self.assertTrue(self.wheel)

    def test_a_forgotten_wheel_is_collected_with_its_timers(self):
        class Keeper:
            pass

        keeper = Keeper()
        keeper.wheel = TimerWheel("virtual")
        keeper.timer = keeper.wheel.call_later(1, print, keeper)
        keeper.wheel.every(1, lambda: keeper)
        gone = weakref.ref(keeper)
        del keeper
        gc.collect()
        self.assertIsNone(gone())

    def test_destructors_may_arm_and_cancel(self):
        wheel = self.wheel

        class Callback:
            def __call__(self):
                pass

            def __del__(self):
                victim.cancel()
                try:
                    wheel.call_later(1, print)
                except ValueError:
                    refused.append(True)

        refused = []
        victim = wheel.call_later(9, print)
        wheel.call_later(1, Callback())
        wheel.call_later(2, Callback())
        wheel.close()
        self.assertEqual(refused, [True, True])
        self.assertEqual(len(wheel), 0)

    def test_may_be_closed_in_a_callback(self):
        self.wheel.call_later(1, self.wheel.close)
        self.wheel.call_later(1, self.note)
        self.wheel.advance(1)
        self.assertEqual(self.fired, [])

    def test_reading_the_time_may_close_the_wheel(self):
        class Delay:
            def __init__(self, wheel):
                self.wheel = wheel

            def __float__(self):
                self.wheel.close()
                return 1.0

        for method in (TimerWheel.call_later, TimerWheel.call_at, TimerWheel.every):
            wheel = TimerWheel("virtual")
            with self.assertRaises(ValueError):
                method(wheel, Delay(wheel), self.note)
            self.assertEqual(len(wheel), 0)

    def test_a_long_chain_of_timers_may_go(self):
        timer = None
        for _ in range(200_000):
            timer = self.wheel.call_later(1, self.note, timer)
            timer.cancel()
        gone = weakref.ref(timer)
        del timer
        self.assertIsNone(gone())


class OnAThread(unittest.TestCase):
    def test_is_never_early_and_none_is_lost(self):
        early, left, over = [], [10_000], threading.Event()

        def check(deadline):
            if time.monotonic() < deadline:
                early.append(deadline)
            left[0] -= 1  # callbacks run one at a time
            if left[0] == 0:
                over.set()

        with TimerWheel() as wheel:
            for number in range(10_000):
                delay = number % 250 / 1000
                wheel.call_later(delay, check, time.monotonic() + delay - 1e-9)  # rounded to nanoseconds
            self.assertTrue(over.wait(PATIENCE))
        self.assertEqual(early, [])

    def test_cancel_wait_waits_for_the_callback(self):
        begun, ended, slow = slow_callback()
        with TimerWheel() as wheel:
            timer = wheel.every(0.001, slow)
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

        def hammer(wheel, seed):
            chance = random.Random(seed)
            for _ in range(1000):
                timer = wheel.call_later(chance.random() / 2000, fired)
                time.sleep(chance.random() / 5000)
                if timer.cancel_wait():
                    with lock:
                        counts["cancelled"] += 1

        lock = threading.Lock()
        with TimerWheel() as wheel:
            threads = [threading.Thread(target=hammer, args=(wheel, seed)) for seed in range(4)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()
            self.assertEqual(len(wheel), 0)
        self.assertEqual(counts["fired"] + counts["cancelled"], 4000)

    def test_the_last_reference_to_a_periodic_timer_may_go_while_it_runs(self):
        with TimerWheel() as wheel:
            for _ in range(300):
                timer = wheel.every(1e-5, lambda: None)
                time.sleep(0.0001)
                timer.cancel()
                del timer

    def test_a_callback_may_close_the_wheel_that_calls_it(self):
        wheel, closed = TimerWheel(), threading.Event()
        wheel.call_later(0, lambda: (wheel.close(), closed.set()))
        self.assertTrue(closed.wait(PATIENCE))
        wheel.close()
        self.assertFalse(wheel._thread.is_alive())

    def test_close_waits_for_the_callback(self):
        begun, ended, slow = slow_callback()
        wheel = TimerWheel()
        wheel.call_later(0, slow)
        self.assertTrue(begun.wait(PATIENCE))
        wheel.close()
        self.assertTrue(ended)

    def test_an_interrupt_ends_cancel_wait(self):
        def interrupt():
            begun.set()
            time.sleep(0.05)
            signal.raise_signal(signal.SIGINT)
            over.wait(PATIENCE)

        begun, over = threading.Event(), threading.Event()
        with TimerWheel() as wheel:
            timer = wheel.call_later(0, interrupt)
            self.assertTrue(begun.wait(PATIENCE))
            with self.assertRaises(KeyboardInterrupt):
                timer.cancel_wait()
            over.set()

    def test_an_earlier_timer_ends_the_sleep(self):
        fired = threading.Event()
        with TimerWheel() as wheel:
            wheel.call_later(3600, print)
            time.sleep(0.01)  # the thread sleeps
            timer = wheel.call_later(1800, fired.set)
            timer.move(0.01)
            self.assertTrue(fired.wait(PATIENCE))


class InALoop(unittest.TestCase):
    def setUp(self):
        self.wheel = TimerWheel("loop")
        self.addCleanup(self.wheel.close)
        self.fired = []

    def is_readable(self, seconds):
        return select.select([self.wheel], [], [], seconds)[0] != []

    def test_the_descriptor_is_readable_when_a_timer_is_due(self):
        self.assertFalse(self.is_readable(0))
        begin = self.wheel.time()
        self.wheel.call_later(60, self.fired.append, "late")
        self.wheel.call_later(0.01, self.fired.append, "soon")
        self.assertTrue(self.is_readable(PATIENCE))
        self.assertGreaterEqual(time.monotonic(), begin + 0.01)
        self.wheel.dispatch()
        self.assertEqual(self.fired, ["soon"])
        self.assertFalse(self.is_readable(0))

    def test_a_periodic_timer_that_is_late_fires_once(self):
        self.wheel.every(0.01, self.fired.append, "beat")
        time.sleep(0.055)
        self.wheel.dispatch()
        self.assertEqual(self.fired, ["beat"])
        grid = self.wheel.pending()[0].when()
        self.assertTrue(self.is_readable(PATIENCE))
        self.assertGreaterEqual(time.monotonic(), grid)

    def test_an_interrupt_leaves_the_other_timers(self):
        def interrupt():
            raise KeyboardInterrupt

        self.wheel.call_at(0, interrupt)
        self.wheel.call_at(0, self.fired.append, "next")
        with self.assertRaises(KeyboardInterrupt):
            self.wheel.dispatch()
        self.assertTrue(self.is_readable(PATIENCE))
        self.wheel.dispatch()
        self.assertEqual(self.fired, ["next"])

    def test_cancel_wait_waits_for_the_loop(self):
        begun, ended, slow = slow_callback()
        timer = self.wheel.call_later(0, slow)
        self.assertTrue(self.is_readable(PATIENCE))
        loop = threading.Thread(target=self.wheel.dispatch)
        loop.start()
        self.assertTrue(begun.wait(PATIENCE))
        self.assertFalse(timer.cancel_wait())
        self.assertTrue(ended)
        loop.join()


class AtTheEnd(unittest.TestCase):
    """Programs that end with timers pending, or running."""

    def run_program(self, text):
        return subprocess.run(
            [sys.executable, "-c", "import os, sys, time, tickwheel\n" + text],
            capture_output=True, text=True, timeout=PATIENCE, check=False,
        )

    def expect_a_quiet_end(self, text):
        ended = self.run_program(text)
        self.assertEqual((ended.returncode, ended.stderr), (0, ""))

    def test_with_timers_pending(self):
        self.expect_a_quiet_end(
            "wheel = tickwheel.TimerWheel()\nwheel.every(0.001, len, 'x')\nwheel.call_later(9, len, 'x')"
        )

    def test_with_fast_timers_that_fire_all_the_time(self):
        for _ in range(5):
            self.expect_a_quiet_end(
                "for _ in range(3):\n"
                "    wheel = tickwheel.TimerWheel()\n"
                "    for _ in range(50): wheel.every(1e-5, len, 'x')\n"
                "time.sleep(0.02)"
            )

    def test_inside_a_callback_that_runs(self):
        self.expect_a_quiet_end(
            "wheel = tickwheel.TimerWheel()\nwheel.call_later(0, time.sleep, 0.1)\ntime.sleep(0.02)"
        )

    def test_a_forked_child_keeps_virtual_time(self):
        self.expect_a_quiet_end(
            "wheel = tickwheel.TimerWheel('virtual')\nfired = []\nwheel.call_later(1, fired.append, 1)\n"
            "child = os.fork()\n"
            "wheel.advance(1)\n"
            "assert fired == [1]\n"
            "if child == 0: sys.exit(0)\n"
            "assert os.waitpid(child, 0)[1] == 0"
        )

    def test_a_child_goes_on_with_virtual_time_that_another_thread_moved(self):
        self.expect_a_quiet_end(
            "import threading\n"
            "def callback():\n"
            "    begun.set()\n"
            "    if os.getpid() == parent: over.wait()\n"
            "parent, begun, over = os.getpid(), threading.Event(), threading.Event()\n"
            "wheel = tickwheel.TimerWheel('virtual')\nbeat = wheel.every(1, callback)\n"
            "thread = threading.Thread(target=wheel.advance, args=(1,))\nthread.start()\nbegun.wait()\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    wheel.advance(1)\n"
            "    beat.cancel_wait()\n"
            "    os._exit(0)\n"
            "over.set()\nthread.join()\n"
            "assert os.waitpid(child, 0)[1] == 0"
        )

    def test_while_other_threads_make_and_close_wheels(self):
        self.expect_a_quiet_end(
            "import threading\n"
            "def churn():\n"
            "    while True: tickwheel.TimerWheel('loop').close()\n"
            "sys.setswitchinterval(1e-6)\n"
            "for _ in range(4): threading.Thread(target=churn, daemon=True).start()\n"
            "for _ in range(300):\n"
            "    wheels = [tickwheel.TimerWheel('loop') for _ in range(50)]\n"
            "    tickwheel._close_all()  # as at the end, which is too short to meet each race\n"
        )

    def test_an_interrupt_ends_a_long_advance(self):
        program = subprocess.Popen(
            [sys.executable, "-c", "import functools, tickwheel\nwheel = tickwheel.TimerWheel('virtual')\n"
             "wheel.call_later(0, functools.partial(print, 'begun', flush=True))\nwheel.every(1e-6, len, 'x')\n"
             "wheel.advance(1e6)"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        self.addCleanup(program.kill)
        self.assertEqual(program.stdout.readline(), "begun\n")
        program.send_signal(signal.SIGINT)
        self.assertIn("KeyboardInterrupt", program.communicate(timeout=PATIENCE)[1])

    def test_in_a_child_forked_by_a_callback(self):
        self.expect_a_quiet_end(
            "def fork():\n"
            "    child = os.fork()\n"
            "    if child == 0: wheel.close(); os._exit(0)\n"
            "    ended.append(os.waitpid(child, 0)[1])\n"
            "ended = []\nwheel = tickwheel.TimerWheel()\nwheel.call_later(0, fork)\n"
            "while not ended: time.sleep(0.01)\n"
            "assert ended == [0]"
        )

    def test_in_a_forked_child(self):
        self.expect_a_quiet_end(
            "wheel = tickwheel.TimerWheel()\nwheel.every(0.001, len, 'x')\n"
            "child = os.fork()\n"
            "if child == 0:\n"
            "    assert wheel.closed and len(wheel) == 0\n"
            "    tickwheel.TimerWheel().call_later(0.01, len, 'x')\n"
            "    time.sleep(0.02)\n"
            "    sys.exit(0)\n"
            "assert os.waitpid(child, 0)[1] == 0\n"
            "assert not wheel.closed and len(wheel) == 1"
        )


class Stubs(unittest.TestCase):
    def test_have_the_names_of_the_modules(self):
        for module in (tickwheel, tickwheel.asyncio):
            stub = ast.parse(Path(module.__file__).with_suffix(".pyi").read_text("utf-8"))
            classes = [each for each in stub.body if isinstance(each, ast.ClassDef)]
            functions = [each for each in stub.body if isinstance(each, ast.FunctionDef)]
            self.assertEqual({each.name for each in classes + functions}, set(module.__all__))
            for each in classes:
                described = self.public(method.name for method in each.body)
                ours, others = set(), set()
                for base in getattr(module, each.name).__mro__:
                    (ours if base.__module__.startswith("tickwheel") else others).update(self.public(vars(base)))
                self.assertLessEqual(ours - others, described)
                self.assertLessEqual(described, ours)

    @staticmethod
    def public(names):
        return {name for name in names if not name.startswith("_")}


if __name__ == "__main__":
    unittest.main()
