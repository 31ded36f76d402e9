"""Timers on a timer wheel. Scheduling and cancelling a timer cost the same work whether ten are pending or a million.

    with tickwheel.TimerWheel() as wheel:           # its own thread runs the callbacks
        beat = wheel.every(1.0, print, "tick")      # a Timer
        late = wheel.call_later(30.0, give_up)
        ...
        late.cancel()                               # True: it prevented the call

tickwheel.asyncio has an event loop with its timers on such a wheel.
"""

import atexit
import os
import threading
import weakref

from ._tickwheel import VERSION, Timer, Wheel

__all__ = ["Timer", "TimerWheel"]
__version__ = f"{VERSION // 10000}.{VERSION // 100 % 100}.{VERSION % 100}"

# The wheels, by id, that a fork or the end of the program must stop. Other threads may change the dictionary meanwhile:
# valuerefs(), unlike iteration, copies it at once.
_open = weakref.WeakValueDictionary()


class TimerWheel(Wheel):
    """Timers on a clock. Callbacks run one at a time.

    driver "thread"   the wheel's own thread runs the callbacks
    driver "loop"     your event loop runs them: wait until fileno() is readable, then call dispatch()
    driver "virtual"  advance() runs them: time begins at 0, and moves only there

    Times are seconds. A deadline is a time on the clock that time() reads, rounded up to the next microsecond. Timers
    of one microsecond fire in the order in which they were armed. All methods may be called from any thread, and from
    callbacks. If a callback raises an exception, sys.unraisablehook gets it, and a periodic timer goes on; but
    KeyboardInterrupt and SystemExit end the dispatch() or advance() that runs the callback.

    The wheel keeps its pending timers alive, and a wheel with a thread lives until close(). At exit all wheels are
    closed, after a running callback has returned. In the child of a fork, the parent's wheels are closed, except for
    those on virtual time.
    """

    def __init__(self, driver="thread"):
        super().__init__(driver)
        self._thread = None
        if driver == "thread":
            self._thread = threading.Thread(target=self._run_thread, name="tickwheel", daemon=True)
            self._thread.start()
        _open[id(self)] = self

    def close(self):
        """Cancels all timers. Waits for a running callback, unless that callback makes this call."""
        _open.pop(id(self), None)
        self._close()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def _describe(self, timer):
        due = timer.when()
        state = "idle" if due is None else f"when={due}"
        return f"<Timer {state} {timer.callback!r}>"


def _open_wheels():
    return [wheel for wheel in (ref() for ref in _open.valuerefs()) if wheel is not None]


def _close_all():
    for wheel in _open_wheels():
        wheel.close()


def _leave_to_parent():
    for wheel in _open_wheels():
        wheel._leave_to_parent()


atexit.register(_close_all)
os.register_at_fork(after_in_child=_leave_to_parent)
