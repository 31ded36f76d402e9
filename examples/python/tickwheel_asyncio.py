"""An asyncio event loop whose timers are on the wheel.

    with asyncio.Runner(loop_factory=tickwheel_asyncio.EventLoop) as runner:  # from Python 3.11
        runner.run(main())

    asyncio.set_event_loop_policy(tickwheel_asyncio.EventLoopPolicy())        # or for all loops
    asyncio.run(main())

call_later, call_at, and what is built on them (asyncio.sleep, timeout, wait_for), arm a node instead of
entering a heap: cancelling a timer takes it off at once, however many there are. The runtime lends the loop a
descriptor that is readable when a timer is due. Everything else comes from asyncio.SelectorEventLoop. """

import asyncio

from tickwheel import Runtime

__all__ = ["EventLoop", "EventLoopPolicy"]


class TimerHandle(asyncio.TimerHandle):
    __slots__ = ("_timer",)


class EventLoop(asyncio.SelectorEventLoop):
    _wheel = None

    def __init__(self, selector=None):
        super().__init__(selector)
        # With ticks of a nanosecond, a timer that is due a nanosecond earlier fires earlier, as in asyncio's
        # heap.
        self._wheel = Runtime(driver="timerfd", tick=1e-9, start=False)
        self._wheel_fd = self._wheel.fileno()
        self.add_reader(self._wheel_fd, self._wheel.dispatch)

    def call_at(self, when, callback, *args, context=None):
        if when is None:
            raise TypeError("when cannot be None")
        self._check_closed()
        if self._debug:
            self._check_thread()
            self._check_callback(callback, "call_at")
        handle = TimerHandle(when, callback, args, self, context)
        if handle._source_traceback:
            del handle._source_traceback[-1]
        handle._timer = self._wheel.call_at(when, self._due, handle)
        handle._scheduled = True
        return handle

    # Called in dispatch(); asyncio runs the handle in its next round, as it does all others.
    def _due(self, handle):
        handle._scheduled = False
        handle._timer = None
        self._add_callback(handle)

    def _timer_handle_cancelled(self, handle):
        if handle._scheduled:
            handle._scheduled = False
            timer, handle._timer = handle._timer, None
            timer.cancel()

    def close(self):
        if self._wheel is not None and not self.is_running() and not self.is_closed():
            self.remove_reader(self._wheel_fd)
            self._wheel.close()
        super().close()


class EventLoopPolicy(asyncio.DefaultEventLoopPolicy):
    _loop_factory = EventLoop
