"""An asyncio event loop with its timers on a timer wheel.

    with asyncio.Runner(loop_factory=tickwheel.asyncio.EventLoop) as runner:
        runner.run(main())

    tickwheel.asyncio.run(main())    # the same

call_later and call_at, and so all that asyncio builds on them (sleep, timeout, wait_for), arm a node of the wheel
instead of pushing to a heap. So a cancelled timer is gone at once. Everything else is asyncio.SelectorEventLoop.
"""

import asyncio
import sys
from asyncio import format_helpers

from ._tickwheel import LoopTimers, TimerHandle

__all__ = ["EventLoop", "TimerHandle", "run"]


class _Selector:
    """A selector whose select() ends when a timer is due."""

    def __init__(self, selector, until_due):
        self.register, self.unregister, self.modify = selector.register, selector.unregister, selector.modify
        self.get_map, self.get_key, self.close = selector.get_map, selector.get_key, selector.close
        self._select, self._until_due = selector.select, until_due

    def select(self, timeout=None):
        return self._select(self._until_due() if timeout is None else timeout)


class EventLoop(LoopTimers, asyncio.SelectorEventLoop):
    def __init__(self, selector=None):
        super().__init__(selector)
        self._selector = _Selector(self._selector, self._until_due)

    def close(self):
        super().close()
        self._drop_timers()

    # asyncio calls this once per iteration, after it has waited.
    def _process_events(self, event_list):
        super()._process_events(event_list)
        self._collect_due(self._ready.append)

    # In debug mode: rejects mistakes, and returns the stack of the call that makes the timer.
    def _inspect(self, callback, method):
        self._check_thread()
        self._check_callback(callback, method)
        return format_helpers.extract_stack(sys._getframe(1))

    # Reports a callback's exception as asyncio.Handle does.
    def _failed(self, handle, exception):
        source = format_helpers._format_callback_source(handle.callback, handle.args)
        context = {"message": f"Exception in callback {source}", "exception": exception, "handle": handle}
        if handle._source_traceback:
            context["source_traceback"] = handle._source_traceback
        self.call_exception_handler(context)

    def _describe(self, handle):
        words = ["TimerHandle"]
        if handle.cancelled():
            words.append("cancelled")
        words.append(f"when={handle.when()}")
        if handle.callback is not None:
            words.append(format_helpers._format_callback_source(handle.callback, handle.args))
        if handle._source_traceback:
            frame = handle._source_traceback[-1]
            words.append(f"created at {frame[0]}:{frame[1]}")
        return f"<{' '.join(words)}>"


def run(main, *, debug=None):
    """Does what asyncio.run does, on an EventLoop."""
    with asyncio.Runner(debug=debug, loop_factory=EventLoop) as runner:
        return runner.run(main)
