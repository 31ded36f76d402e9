"""Tickwheel's timers in Python, by ctypes: no compiler is needed.

    with tickwheel.Runtime() as rt:              # a thread, a clock, a wheel
        beat = rt.every(1.0, print, "tick")      # a Timer
        late = rt.call_later(30.0, give_up)
        ...
        late.cancel()                            # True: the call had not begun

Callbacks run on the runtime's own thread, one at a time, and hold the GIL. An exception that leaves one
goes to sys.unraisablehook, and the timer goes on. Functions may be called from any thread and from
callbacks. Times are seconds; a deadline is a reading of rt.time(), which is time.monotonic() unless
the driver is "manual". No callback runs before its deadline, to the nanosecond.

Ownership: a pending timer stays alive without a reference to its Timer, and a runtime until close(). The end
of the program closes all runtimes, and waits for a running callback.

The library is the one that TICKWHEEL_LIBRARY names, or the one that the system finds.
"""

import atexit
import ctypes
import ctypes.util
import math
import os
from ctypes import POINTER, byref, c_char_p, c_int, c_int64, c_size_t, c_uint32, c_uint64, c_void_p

__all__ = ["Runtime", "Timer", "library", "version"]

NO_DEADLINE = 2**63 - 1
COALESCE = 0  # TW_COALESCE: one fire stands for those that were missed


class _Options(ctypes.Structure):  # struct tw_runtime_options
    _fields_ = [
        ("tick_ns", c_int64),
        ("clock", c_int),
        ("driver", c_char_p),
        ("own_driver", c_void_p),
        ("slack_ns", c_int64),
        ("budget", c_uint32),
        ("thread_name", c_char_p),
        ("cpus", c_uint64),
        ("priority", c_int),
    ]


_Callback = ctypes.CFUNCTYPE(None, c_void_p, c_void_p)  # tw_callback


def _load():
    name = os.environ.get("TICKWHEEL_LIBRARY") or ctypes.util.find_library("tickwheel") or "libtickwheel.so.0"
    try:
        lib = ctypes.CDLL(name)  # releases the GIL in each call, so a call may wait for a callback
    except OSError as error:
        raise ImportError(f"{error}; install it, or set TICKWHEEL_LIBRARY to the path of libtickwheel.so") from None
    rt, node = c_void_p, c_void_p
    for function, result, *arguments in (
        ("tw_version", c_int),
        ("tw_node_size", c_size_t),
        ("tw_explain", c_char_p, c_int),
        ("tw_node_init", c_int, node, _Callback, c_void_p),
        ("tw_runtime_new", c_int, POINTER(c_void_p), POINTER(_Options)),
        ("tw_runtime_start", c_int, rt),
        ("tw_runtime_stop", c_int, rt),
        ("tw_runtime_free", c_int, rt),
        ("tw_runtime_after", c_int, rt, node, c_int64),
        ("tw_runtime_at", c_int, rt, node, c_int64),
        ("tw_runtime_every", c_int, rt, node, c_int64, c_int),
        ("tw_runtime_cancel", c_int, rt, node),
        ("tw_runtime_cancel_wait", c_int, rt, node),
        ("tw_runtime_remaining", c_int64, rt, node),
        ("tw_runtime_count", c_size_t, rt),
        ("tw_runtime_now", c_int64, rt),
        ("tw_runtime_fd", c_int, rt),
        ("tw_runtime_dispatch", c_int, rt),
        ("tw_runtime_advance", c_int, rt, c_int64),
    ):
        entry = getattr(lib, function)
        entry.restype, entry.argtypes = result, arguments
    return lib


library = _load()
_node_size = library.tw_node_size()

# Objects that C may still call: the timers, by the addresses of their nodes, and the open runtimes.
_pending = {}
_open = set()


def version():
    """The version of the loaded library, as text."""
    number = library.tw_version()
    return f"{number // 10000}.{number // 100 % 100}.{number % 100}"


def _check(result):
    if result < 0:
        raise OSError(-result, library.tw_explain(result).decode())
    return result


def nanoseconds(seconds):
    """The nearest number of nanoseconds, because 0.067 is a little more than 67 ms. A time that is too long
    never ends."""
    if seconds == math.inf:
        return NO_DEADLINE
    return min(round(seconds * 1_000_000_000), NO_DEADLINE)


@_Callback
def _fire(node, _):
    timer = _pending.get(node)
    if timer is not None:  # else cancelled while this thread waited for the GIL
        timer._run()


class Timer:
    """One timer, made by a Runtime. It goes on without a reference to it."""

    __slots__ = ("_runtime", "_callback", "_args", "_node", "_address", "_periodic", "__weakref__")

    def __init__(self, runtime, callback, args, periodic):
        self._runtime, self._callback, self._args, self._periodic = runtime, callback, args, False
        if not callable(callback):
            raise TypeError(f"a callable is needed, not {callback!r}")
        self._periodic = periodic
        self._node = ctypes.create_string_buffer(_node_size)
        self._address = ctypes.addressof(self._node)
        _check(library.tw_node_init(self._address, _fire, None))

    # Stores the timer before arming it, because it may fire before the call returns.
    def _arm(self, how, *arguments):
        handle = self._runtime._handle()
        _pending[self._address] = self
        result = how(handle, self._address, *arguments)
        if result < 0:
            del _pending[self._address]
        _check(result)
        return self

    def _run(self):
        if not self._periodic:
            _pending.pop(self._address, None)
        try:
            self._callback(*self._args)
        except (KeyboardInterrupt, SystemExit) as interrupt:
            if not self._runtime._driving:
                raise
            self._runtime._interrupt = interrupt  # for the thread that drives the runtime, when it is back

    def __del__(self):
        # The callback of a periodic timer may still be running on another thread.
        if self._periodic and self._runtime._rt is not None:
            library.tw_runtime_cancel_wait(self._runtime._rt, self._address)

    def cancel(self):
        """Ends the timer. Returns True if that prevented a fire. Does not wait for a running callback."""
        return self._end(library.tw_runtime_cancel)

    def cancel_wait(self):
        """As cancel; also waits until the callback runs on no other thread. Do not hold a lock that the
        callback takes."""
        return self._end(library.tw_runtime_cancel_wait)

    def _end(self, how):
        if self._runtime._rt is None:
            return False
        prevented = _check(how(self._runtime._rt, self._address)) > 0
        if prevented:
            _pending.pop(self._address, None)
        return prevented

    def remaining(self):
        """The seconds until the timer is due; None if it is not pending."""
        if self._runtime._rt is None:
            return None
        left = library.tw_runtime_remaining(self._runtime._rt, self._address)
        return None if left == NO_DEADLINE else left / 1_000_000_000

    def pending(self):
        return self.remaining() is not None


class Runtime:
    """Timers on a clock. With the drivers "sleep" and "epoll" a thread of the library runs the callbacks.

    driver "timerfd" with start=False  a loop of yours does: poll fileno(), then call dispatch()
    driver "manual"                    advance() does: time moves only there
    """

    def __init__(self, driver="sleep", tick=0.001, start=True):
        options = _Options(tick_ns=nanoseconds(tick), driver=driver.encode())
        handle = c_void_p()
        self._rt, self._driving, self._interrupt = None, False, None
        _check(library.tw_runtime_new(byref(handle), byref(options)))
        self._rt = handle
        _open.add(self)
        if start and driver != "manual":
            try:
                _check(library.tw_runtime_start(handle))
            except OSError:
                self.close()
                raise

    def _handle(self):
        if self._rt is None:
            raise ValueError("the runtime is closed")
        return self._rt

    def call_later(self, delay, callback, *args):
        """Calls callback(*args) once, `delay` seconds from now."""
        timer = Timer(self, callback, args, False)
        return timer._arm(library.tw_runtime_after, nanoseconds(delay))

    def call_at(self, when, callback, *args):
        """Calls callback(*args) once, when time() reads `when`; at once if that has passed."""
        timer = Timer(self, callback, args, False)
        return timer._arm(library.tw_runtime_at, max(0, nanoseconds(when)))

    def every(self, period, callback, *args):
        """Calls callback(*args) every `period` seconds, without drift, until it is cancelled."""
        timer = Timer(self, callback, args, True)
        return timer._arm(library.tw_runtime_every, nanoseconds(period), COALESCE)

    def time(self):
        return library.tw_runtime_now(self._handle()) / 1_000_000_000

    def count(self):
        """How many timers are pending."""
        return library.tw_runtime_count(self._handle())

    def start(self):
        _check(library.tw_runtime_start(self._handle()))

    def stop(self):
        """Stops the thread: no callback runs until start(). Timers stay pending."""
        _check(library.tw_runtime_stop(self._handle()))

    def fileno(self):
        return _check(library.tw_runtime_fd(self._handle()))

    def dispatch(self):
        """Calls the callbacks that are due, on this thread."""
        self._drive(library.tw_runtime_dispatch)

    def advance(self, seconds):
        """Moves virtual time on, and calls the callbacks that become due, on this thread."""
        self._drive(library.tw_runtime_advance, nanoseconds(seconds))

    # Ctrl-C in a callback ends this call as it would end any other.
    def _drive(self, how, *arguments):
        self._driving = True
        try:
            _check(how(self._handle(), *arguments))
        finally:
            self._driving = False
        if self._interrupt is not None:
            interrupt, self._interrupt = self._interrupt, None
            raise interrupt

    def close(self):
        """Cancels all timers and frees the runtime. Waits for a running callback, unless that callback makes
        this call."""
        handle, self._rt = self._rt, None
        _open.discard(self)
        if handle is not None:
            library.tw_runtime_free(handle)
            for timer in [each for each in list(_pending.values()) if each._runtime is self]:
                _pending.pop(timer._address, None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()


# No callback may need the interpreter when the interpreter is gone.
@atexit.register
def _close_all():
    for runtime in list(_open):
        runtime.close()
