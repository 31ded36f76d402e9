"""The tests of tickwheel.asyncio: the loop keeps asyncio's promises. Most tests run on asyncio's own loop,
too."""

import asyncio
import contextvars
import gc
import random
import threading
import time
import traceback
import unittest
import warnings
import weakref

import tickwheel.asyncio


class TimersOfALoop:
    """The tests for both loops. `make_loop` makes the loop."""

    debug = False  # also if Python runs with -X dev

    def setUp(self):
        self.loop = self.open_loop()
        self.addCleanup(self.loop.close)
        self.ran = []

    def open_loop(self):
        loop = self.make_loop()
        loop.set_debug(self.debug)
        return loop

    def run_for(self, seconds):
        self.loop.run_until_complete(asyncio.sleep(seconds))

    def test_runs_in_order_of_time(self):
        chance = random.Random(2)
        now = self.loop.time() + 0.05
        moments = [now + chance.random() * 0.01 for _ in range(1000)]  # many in one millisecond
        for moment in moments:
            self.loop.call_at(moment, self.ran.append, moment)
        self.run_for(0.1)
        self.assertEqual(self.ran, sorted(moments))

    def test_is_never_early(self):
        def check(handle_at):
            self.ran.append(self.loop.time() >= handle_at - 1e-9)

        for number in range(10_000):
            when = self.loop.time() + number % 100 / 1000
            self.loop.call_at(when, check, when)
        self.run_for(0.11)
        while len(self.ran) < 10_000:  # takes a while on a busy machine
            self.run_for(0.01)
        self.assertTrue(all(self.ran))

    def test_handles_tell_when_and_whether_cancelled(self):
        begin = self.loop.time()
        handle = self.loop.call_later(0.01, self.ran.append, 1)
        self.assertGreaterEqual(handle.when(), begin + 0.01)
        self.assertLessEqual(handle.when(), self.loop.time() + 0.01)
        self.assertFalse(handle.cancelled())
        handle.cancel()
        handle.cancel()
        self.assertTrue(handle.cancelled())
        self.run_for(0.03)
        self.assertEqual(self.ran, [])

    def test_a_handle_that_has_run_is_not_cancelled(self):
        handle = self.loop.call_later(0, self.ran.append, 1)
        self.run_for(0.01)
        self.assertEqual(self.ran, [1])
        self.assertFalse(handle.cancelled())
        handle.cancel()
        self.assertTrue(handle.cancelled())

    def test_a_callback_may_cancel_one_that_is_due_as_well(self):
        when = self.loop.time() + 0.01
        handles = []
        handles += [self.loop.call_at(when, lambda: (self.ran.append("first"), handles[1].cancel()))]
        handles += [self.loop.call_at(when + 1e-6, self.ran.append, "second")]
        time.sleep(0.02)
        self.run_for(0.01)
        self.assertEqual(self.ran, ["first"])

    def test_a_callback_armed_for_now_runs_after_what_is_ready(self):
        self.loop.call_later(0, self.ran.append, "later")
        self.loop.call_soon(self.ran.append, "soon")
        self.run_for(0.01)
        self.assertEqual(self.ran, ["soon", "later"])

    def test_past_and_endless_times(self):
        self.loop.call_at(self.loop.time() - 5, self.ran.append, "past")
        self.loop.call_later(-5, self.ran.append, "negative")
        self.loop.call_at(-5, self.ran.append, "before all")
        endless = self.loop.call_later(float("inf"), self.ran.append, "never")
        self.run_for(0.01)
        self.assertEqual(sorted(self.ran), ["before all", "negative", "past"])
        endless.cancel()

    def test_times_that_poll_cannot_wait_for(self):
        handles = [self.loop.call_later(days * 86400, self.ran.append, 1) for days in (60, 36_500)]
        for handle in handles:
            stop = threading.Timer(0.05, self.loop.call_soon_threadsafe, (self.loop.stop,))
            stop.start()
            self.loop.run_forever()
            handle.cancel()
        self.assertEqual(self.ran, [])

    def test_is_cancelled_from_another_thread_through_the_loop(self):
        handle = self.loop.call_later(60, self.ran.append, 1)
        thread = threading.Thread(target=lambda: self.loop.call_soon_threadsafe(handle.cancel))
        self.loop.call_soon(thread.start)
        while not handle.cancelled():
            self.run_for(0.01)
        thread.join()

    def test_debug_mode_finds_the_same_mistakes(self):
        self.loop.set_debug(True)
        with self.assertRaises(TypeError):
            self.loop.call_later(1, asyncio.sleep)  # a coroutine function
        with self.assertRaises(TypeError):
            self.loop.call_later(None, self.ran.append)
        handle = self.loop.call_later(1, self.ran.append, 1)
        self.assertIn("created at", repr(handle))
        self.assertIn("when=", repr(handle))
        self.assertIn("test_asyncio.py", repr(handle))
        handle.cancel()
        refused = []

        def arm_on_another_thread():
            try:
                self.loop.call_later(1, self.ran.append, 1)
            except RuntimeError as error:
                refused.append(error)

        async def main():
            await asyncio.to_thread(arm_on_another_thread)

        self.loop.run_until_complete(main())
        self.assertEqual(len(refused), 1)

    def test_exceptions_go_to_the_handler_of_the_loop(self):
        def fail(_):
            return 1 // 0

        seen = []
        self.loop.set_exception_handler(lambda loop, context: seen.append(context))
        handle = self.loop.call_later(0.001, fail, "argument")
        self.run_for(0.02)
        self.assertEqual(len(seen), 1)
        self.assertIsInstance(seen[0]["exception"], ZeroDivisionError)
        self.assertIs(seen[0]["handle"], handle)
        self.assertRegex(seen[0]["message"], r"^Exception in callback .*fail\('argument'\) at .*test_asyncio.py:")
        frames = traceback.extract_tb(seen[0]["exception"].__traceback__)
        self.assertEqual(frames[-1].name, "fail")

    def test_interrupts_end_the_loop(self):
        for interrupt in (KeyboardInterrupt, SystemExit):

            def end(interrupt=interrupt):
                raise interrupt

            self.loop.call_later(0.001, end)
            with self.assertRaises(interrupt):
                self.loop.run_forever()

    def test_runs_in_the_context_of_the_call_or_in_one_that_is_given(self):
        variable = contextvars.ContextVar("variable", default="none")
        given = contextvars.copy_context()
        given.run(variable.set, "given")
        variable.set("caller's")
        self.loop.call_later(0.001, lambda: self.ran.append(variable.get()))
        self.loop.call_at(self.loop.time() + 0.002, lambda: self.ran.append(variable.get()), context=given)
        variable.set("later")
        self.run_for(0.02)
        self.assertEqual(self.ran, ["caller's", "given"])

    def test_arguments_may_be_named(self):
        self.loop.call_later(delay=0, callback=lambda: self.ran.append(1))
        self.loop.call_at(when=0, callback=lambda: self.ran.append(2))
        self.run_for(0.01)
        self.assertEqual(sorted(self.ran), [1, 2])
        for mistake in (
            lambda: self.loop.call_later(1, print, more=2),
            lambda: self.loop.call_later(1),
            lambda: self.loop.call_later(1, print, delay=2),
        ):
            with self.assertRaises(TypeError):
                mistake()

    def test_a_callback_may_cancel_its_own_handle(self):
        class Argument:
            pass

        def cancel(argument):
            handle.cancel()
            self.ran.append(argument)

        argument = Argument()
        gone = weakref.ref(argument)
        handle = self.loop.call_later(0, cancel, argument)
        self.run_for(0.01)
        self.assertEqual(self.ran, [argument])
        self.ran.clear()
        del argument
        self.assertIsNone(gone())
        self.assertTrue(handle.cancelled())

    def test_a_forgotten_loop_is_collected_with_its_timers(self):
        class Keeper:
            pass

        keeper = Keeper()
        keeper.loop = self.open_loop()
        keeper.handle = keeper.loop.call_later(9, print, keeper)
        gone = weakref.ref(keeper)
        with warnings.catch_warnings(record=True) as seen:
            warnings.simplefilter("always")
            del keeper
            gc.collect()
        self.assertIsNone(gone())
        self.assertIn("unclosed event loop", str(seen[0].message))

    def test_timeouts_and_waits(self):
        async def main():
            with self.assertRaises(asyncio.TimeoutError):
                await asyncio.wait_for(asyncio.sleep(9), 0.01)
            with self.assertRaises(TimeoutError):
                async with asyncio.timeout(0.01):
                    await asyncio.sleep(9)
            async with asyncio.timeout(0.01) as timeout:
                timeout.reschedule(None)
                await asyncio.sleep(0.02)
            return await asyncio.wait_for(asyncio.sleep(0.001, "done"), 9)

        self.assertEqual(self.loop.run_until_complete(main()), "done")

    def test_drops_callbacks_when_it_is_closed(self):
        class Callback:
            def __call__(self):
                raise AssertionError

        callback = Callback()
        gone = weakref.ref(callback)
        handle = self.loop.call_later(9, callback)
        self.loop.close()
        handle.cancel()
        del callback, handle
        gc.collect()
        self.assertIsNone(gone())
        with self.assertRaises(RuntimeError):
            self.loop.call_later(1, print)


class AsyncioItself(TimersOfALoop, unittest.TestCase):
    make_loop = asyncio.SelectorEventLoop


class OnTheWheel(TimersOfALoop, unittest.TestCase):
    make_loop = tickwheel.asyncio.EventLoop

    def test_a_cancelled_timer_is_off_the_wheel_at_once(self):
        handles = [self.loop.call_later(3600 + n, print) for n in range(10_000)]
        self.assertEqual(len(self.loop.pending_timers()), 10_000)
        for handle in handles:
            handle.cancel()
        self.assertEqual(len(self.loop.pending_timers()), 0)

    def test_a_garbage_collection_may_close_the_loop(self):
        class Garbage:
            def __init__(self):
                self.itself = self

            def __del__(_):
                self.loop.close()

        self.addCleanup(gc.set_threshold, *gc.get_threshold())
        with self.assertRaises(RuntimeError):
            gc.set_threshold(10_000)
            Garbage()
            gc.set_threshold(1)
            self.loop.call_later(1, print)
        self.assertEqual(self.loop.pending_timers(), [])

    def test_late_times_run_in_order_and_many_cost_little_more_than_sorted_ones(self):
        spent = []
        for step in (1, -1):
            now, self.ran = self.loop.time(), []
            for number in range(30_000):
                when = now - 1e5 + step * (number // 2)  # two of each
                self.loop.call_at(when, self.ran.append, (when, number))
            begin = time.thread_time()
            while len(self.ran) < 30_000:
                self.run_for(0)
            spent.append(time.thread_time() - begin)
            self.assertEqual(self.ran, sorted(self.ran))
        self.assertLess(spent[1], 10 * spent[0])

    def test_sleeps_until_something_is_due(self):
        rounds = 0
        select = self.loop._selector.select

        def counting(timeout):
            nonlocal rounds
            rounds += 1
            return select(timeout)

        self.loop._selector.select = counting
        self.run_for(0.3)
        self.assertLess(rounds, 10)

    def test_lists_pending_timers_in_order_of_time(self):
        begin = self.loop.time()
        handles = [self.loop.call_at(begin + delay, self.ran.append, delay) for delay in (30, 10, 20)]
        self.assertEqual([handle.args for handle in self.loop.pending_timers()], [(10,), (20,), (30,)])
        self.assertEqual([handle.callback for handle in self.loop.pending_timers()], [self.ran.append] * 3)
        self.assertIs(self.loop.pending_timers()[0], handles[1])
        handles[1].cancel()
        self.assertEqual([handle.when() for handle in self.loop.pending_timers()], [begin + 20, begin + 30])
        self.assertIsNone(handles[1].callback)

    def test_handles_tell_their_context(self):
        context = contextvars.copy_context()
        self.assertIs(self.loop.call_later(1, print, context=context).get_context(), context)

    def test_run_makes_such_a_loop(self):
        async def main():
            return asyncio.get_running_loop()

        self.assertIsInstance(tickwheel.asyncio.run(main()), tickwheel.asyncio.EventLoop)


class OnTheWheelInDebugMode(TimersOfALoop, unittest.TestCase):
    make_loop = tickwheel.asyncio.EventLoop
    debug = True


if __name__ == "__main__":
    unittest.main()
