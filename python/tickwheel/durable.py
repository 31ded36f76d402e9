"""Timers that a database keeps, called jobs: they fire even if the process has crashed, on one of many processes.

    jobs = tickwheel.durable.Jobs("sqlite:orders.db")       # or "postgresql://user@host/shop"

    @jobs.handler("unpaid")
    def on_unpaid(fire):
        if not mail.is_up():
            return tickwheel.durable.again(60)               # in a minute; this is no failure
        mail.remind(fire.key, fire.json())                   # an exception is a failed try

    jobs.put("unpaid", "17", {"cents": 250}, delay=180)      # on disk when it returns
    jobs.run()                                               # until SIGTERM: handles jobs

durable/docs/DURABLE.md says what is promised. Spans are seconds or timedeltas; times are aware datetimes. Errors of the
database raise OSError with the codes of tickwheel/durable.h and the database's own message; wrong arguments raise
ValueError.
"""

import asyncio
import atexit
import builtins
import enum
import inspect
import json
import os
import signal
import sys
import threading
import time
import traceback
import weakref
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from types import TracebackType
from typing import Any, Literal, Self, TypedDict, TypeVar, Unpack

try:
    from ._durable import Connection
except ImportError as _error:
    raise ImportError(
        "this package was built without durable jobs: install libtickwheel-durable-dev, or Tickwheel itself with SQLite"
        " or PostgreSQL, so that `pkg-config --exists tickwheel-durable` succeeds, and build the package again"
    ) from _error

__all__ = ["Again", "Entry", "Event", "Fire", "Job", "Jobs", "Member", "State", "Tally", "again"]

_EPOCH = datetime(1970, 1, 1, tzinfo=timezone.utc)
_MISSED = {"coalesce": 0, "burst": 1, "skip": 2}
_REPLACE, _KEEP, _ADD = range(3)
_LATER = ...
_NEVER = 2**63 - 1
_PAUSE_BEFORE_RESTART = 1.0


_Span = float | timedelta
_Missed = Literal["coalesce", "burst", "skip"]


class State(enum.IntFlag):
    PENDING = 1
    HELD = 2
    STARTED = 4
    FAILED = 8
    GIVEN_UP = 16
    WAITING = 32


class Event(enum.IntEnum):
    CONNECTED = 0
    DISCONNECTED = 1
    LEASE_LOST = 2
    REFUSED = 3


def _ns(span: _Span) -> int:
    """Nanoseconds, exact for a timedelta and to the nearest microsecond for a number of seconds."""
    if isinstance(span, timedelta):
        return span // timedelta(microseconds=1) * 1000
    return round(span * 1_000_000) * 1000


def _time(ns: int) -> datetime:
    return _EPOCH + timedelta(microseconds=ns // 1000)


def _reading(time: datetime) -> int:
    """A time as the library counts, but not 0, which stands for no time."""
    if time.replace(tzinfo=None) == datetime.max:
        return _NEVER
    if time.tzinfo is None:
        raise ValueError("the time must have a time zone")
    return min(max(_ns(time - _EPOCH), 1), _NEVER)


def _bytes(payload: object) -> bytes:
    if isinstance(payload, (bytes, bytearray, memoryview)):
        return bytes(payload)
    return (payload if isinstance(payload, str) else json.dumps(payload)).encode()


@dataclass(frozen=True)
class Again:
    """The answer that makes the job fire once more for this due time. See again()."""

    delay: _Span


def again(delay: _Span = 0.0) -> Again:
    """Returns the answer that makes the job fire once more, after this delay. This does not count as a failure."""
    return Again(delay)


@dataclass(frozen=True)
class Job:
    """A job to put. With kind and key alone it fires once, at once."""

    kind: str
    key: str
    payload: Any = b""  # bytes; a str, as UTF-8; anything else becomes JSON
    delay: _Span = 0  # it fires, or fires first, this long after the put
    at: datetime | None = None  # or at this time
    every: _Span = 0  # its period
    cron: str | None = None  # or a cron expression, in a time zone; None: UTC
    zone: str | None = None
    missed: _Missed = "coalesce"
    grace: _Span = 0  # 0 stands for 1 s
    group: str | None = None  # the job belongs to this group until it has ended
    waits_for: str | None = None  # it fires when no job of this group is left, and not before it is due
    within: _Span = 0  # puts that replace it make it due no later than this long after the first

    def _native(self) -> tuple[Any, ...]:
        if self.missed not in _MISSED:
            raise ValueError(f"missed is one of {', '.join(_MISSED)}, not {self.missed!r}")
        if self.at is not None and self.at.tzinfo is None:
            raise ValueError("the time of a job must have a time zone")
        if self.at is not None and self.delay:
            raise ValueError("the job has a delay and a time")
        due = _ns(self.delay) if self.at is None else _ns(self.at - _EPOCH)
        return (self.kind, self.key, _bytes(self.payload), due, self.at is not None, _ns(self.every), self.cron,
                self.zone, _MISSED[self.missed], _ns(self.grace), self.group, self.waits_for, _ns(self.within))


class _Schedule(TypedDict, total=False):
    """The fields of a Job from `delay` on."""

    delay: _Span
    at: datetime | None
    every: _Span
    cron: str | None
    zone: str | None
    missed: _Missed
    grace: _Span
    group: str | None
    waits_for: str | None
    within: _Span


class _Payload:
    payload: bytes

    def text(self) -> str:
        return self.payload.decode()

    def json(self) -> Any:
        return json.loads(self.payload)


@dataclass(frozen=True)
class Entry(_Payload):
    """A job as the database stores it."""

    kind: str
    key: str
    payload: bytes
    due: datetime  # the due time that fires next
    ready: datetime | None  # when it can fire: due, or later after a failure; None: it waits for a group
    every: timedelta
    cron: str | None
    zone: str | None
    state: State
    attempts: int  # tries for this due time that have failed
    token: int
    holder: str | None
    holder_id: int  # the id of the member that holds the job; 0: none
    error: str | None  # why the last try failed
    group: str | None
    waits_for: str | None  # None unless it is waiting

    @classmethod
    def _of(cls, row: tuple[Any, ...]) -> Self:
        kind, key, payload, due, ready, every, cron, zone, state, *rest = row
        state = State(state)
        return cls(kind, key, payload, _time(due), _time(ready) if state != State.WAITING else None,
                   timedelta(microseconds=every // 1000), cron, zone, state, *rest)


@dataclass(frozen=True)
class Member:
    """A process that handles jobs."""

    id: int
    name: str
    joined: datetime | None  # None: not known
    lease_end: datetime  # after this time others take over its jobs
    dead: bool  # others are taking over its jobs
    held: int  # jobs that it holds and has not started
    started: int
    kinds: tuple[str, ...] | None  # that it handles; None: not known yet
    clock_offset: timedelta  # how far its machine's time of day was ahead of the database's clock

    @classmethod
    def _of(cls, row: tuple[Any, ...]) -> Self:
        number, name, joined, lease_end, dead, held, started, kinds, offset = row
        return cls(number, name, _time(joined) if joined else None, _time(lease_end), dead, held, started, kinds,
                   timedelta(microseconds=offset // 1000))


@dataclass(frozen=True)
class Tally:
    """How many jobs of one kind there are. See struct tw_durable_tally."""

    kind: str
    held: int
    started: int
    failed: int
    given_up: int  # these count as pending, too
    waiting: int  # for the jobs of a group; these do not count as pending
    first_ready: datetime | None  # when the first pending job is ready; None: none is pending
    pending: tuple[int, ...]  # by the times given to Jobs.tallies; the last number is of jobs that are ready later

    @classmethod
    def _of(cls, row: tuple[Any, ...]) -> Self:
        *counts, first, pending = row
        return cls(*counts, None if first == _NEVER else _time(first), pending)


class Fire(_Payload):
    """A fire, as its handler sees it."""

    __slots__ = ("_native", "kind", "key", "payload", "due", "overruns", "attempt", "token")

    kind: str
    key: str
    due: datetime
    overruns: int
    attempt: int
    token: int

    def __init__(self, native: Any) -> None:
        self._native = native
        self.kind, self.key, self.payload = native.kind, native.key, native.payload
        self.due = _time(native.due_ns)
        self.overruns, self.attempt, self.token = native.overruns, native.attempt, native.token

    def lease(self) -> float:
        """For how many more seconds no other process can take over the job; 0 once the fire has its answer."""
        return self._native.lease_ns() / 1e9

    def __repr__(self) -> str:
        return f"<Fire {self.kind} {self.key} attempt={self.attempt}>"


_Handler = TypeVar("_Handler", bound=Callable[[Fire], Again | None] | Callable[[Fire], Awaitable[Again | None]])


class _Filter(TypedDict, total=False):
    """What selects jobs besides their kind: their states; only keys after `after`, of the kind `after_kind` if no kind
    is given; at most `limit` jobs. With `ready_before`, only jobs that are ready before this time, in the order of
    ready time, kind and key: datetime.max stands for all. `ready_from` continues such a list. See struct
    tw_durable_filter."""

    states: State
    after: str | None
    limit: int
    after_kind: str | None
    ready_before: datetime | None
    ready_from: datetime | None
    group: str | None


def _filter(kind, states=State(0), after=None, limit=0, after_kind=None, ready_before=None, ready_from=None,
            group=None):
    return (kind, states, after, limit, after_kind, _reading(ready_before) if ready_before else 0,
            _reading(ready_from) if ready_from else 0, group)


def _answer(result: Again | None) -> int | None:
    """Returns a handler's result as the extension expects it."""
    if result is None:
        return None
    if isinstance(result, Again):
        return max(_ns(result.delay), 0)
    raise TypeError(f"a handler returns None or again(delay), not {result!r}")


def _reason(error):
    return str(error) or type(error).__name__


class _Loop:
    """An asyncio loop on a thread of its own, which runs the handlers that are coroutines."""

    def __init__(self):
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="tickwheel-durable", daemon=True)
        self._thread.start()

    def run(self, coroutine, fire):
        asyncio.run_coroutine_threadsafe(self._finish(coroutine, fire), self._loop)

    @staticmethod
    async def _finish(coroutine, fire):
        try:
            answer = _answer(await coroutine)
        except BaseException as error:  # the fire needs an answer, whatever happens
            answer = _reason(error)
        fire._native.answer(answer)

    def close(self):
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()


class Jobs:
    """A connection with a database. Any thread may use it, handlers too.

    Options are those of struct tw_durable_options in tickwheel/durable.h, with spans in seconds. With `virtual`,
    everything happens in advance(seconds), on virtual time: for tests with "sqlite::memory:".

    Open the connection after a fork: in the child, calls on the parent's connection raise ChildProcessError.
    """

    def __init__(
        self,
        address: str,
        *,
        virtual: bool = False,
        on_event: Callable[[Event, str], object] | None = None,
        schema: str | None = None,
        name: str | None = None,
        lease: _Span = 0,
        poll: _Span = 0,
        horizon: _Span = 0,
        hold: int = 0,
        backlog: int = 0,
        timeout: _Span = 0,
        threads: int = 0,
        must_exist: bool = False,
        confirmed_only: bool = False,
    ) -> None:
        tell = on_event and (lambda event, why: on_event(Event(event), why))
        self._options = (virtual, tell, schema, name, _ns(lease), _ns(poll), _ns(horizon), hold, backlog, _ns(timeout),
                         threads, must_exist, confirmed_only)
        scheme, _, path = address.partition(":")
        if scheme == "sqlite" and path and not path.startswith(":memory:"):
            # start() opens the file once more, perhaps in another folder.
            address = f"sqlite:{os.path.join(os.getcwd(), path)}"
        self._address = address
        self._handlers: dict[str, tuple[Any, ...]] = {}
        self._loop = None
        self._lock = threading.Lock()
        self._connection = Connection(address, False, *self._options)
        self._worker = self._connection if virtual else None  # handles jobs
        _open.add(self)

    # --- putting and removing ---

    def put(
        self, kind: str, key: str, payload: Any = b"", *, keep: bool = False, **schedule: Unpack[_Schedule]
    ) -> None:
        """Puts a job, on disk when this returns. An existing job of this name is replaced, or with `keep` stays."""
        self.put_many([Job(kind, key, payload, **schedule)], keep=keep)

    def add(self, kind: str, key: str, payload: Any = b"", **schedule: Unpack[_Schedule]) -> bool:
        """Puts a job, unless there is one of this name. Returns False if there is one."""
        return self._connection.put((Job(kind, key, payload, **schedule)._native(),), _ADD)

    def put_many(self, jobs: Iterable[Job], *, keep: bool = False) -> None:
        """Puts jobs in one transaction: all or none."""
        self._connection.put(tuple(job._native() for job in jobs), _KEEP if keep else _REPLACE)

    def cancel(self, kind: str, key: str) -> bool:
        """Removes a job. Returns True if this prevented a fire; False if its handler was started, or there is no such
        job."""
        return self._connection.cancel(kind, key) is True

    def requeue(self, kind: str | None = None, key: str | None = None) -> int:
        """Makes failed jobs fire again, at once and with all their tries. Returns how many."""
        return self._connection.requeue(kind, key)

    def fire_now(self, kind: str, key: str) -> bool:
        """Makes a job fire now; a periodic job keeps its schedule. Returns False if the job was started. Raises
        FileNotFoundError if there is no such job."""
        return self._connection.fire_now(kind, key)

    def cancel_many(self, kind: str | None = None, **filter: Unpack[_Filter]) -> int:
        """Removes all jobs of `kind` that the filter selects, started ones included. Returns how many."""
        return self._connection.cancel_many(*_filter(kind, **filter))

    def requeue_many(self, kind: str | None = None, **filter: Unpack[_Filter]) -> int:
        """As requeue(), for all failed jobs of `kind` that the filter selects."""
        return self._connection.requeue_many(*_filter(kind, **filter))

    # --- asking ---

    def get(self, kind: str, key: str) -> Entry | None:
        """Looks up a job. Returns None if there is no such job."""
        rows = self._connection.get(kind, key)
        return Entry._of(rows[0]) if rows else None

    def list(self, kind: str | None = None, **filter: Unpack[_Filter]) -> builtins.list[Entry]:
        """Returns jobs in the order of kind and key: only those of `kind`, in `states`, with keys after `after`. With
        `ready_before`, only those that are ready before this time, in the order of that time."""
        return [Entry._of(row) for row in self._connection.list(*_filter(kind, **filter))]

    def count(self, kind: str | None = None, **filter: Unpack[_Filter]) -> int:
        """Returns how many jobs list() would return."""
        return self._connection.count(*_filter(kind, **filter))

    def why(self, kind: str, key: str) -> str:
        """Says in a sentence why a job has not run yet, also if there is no such job."""
        return self._connection.why(kind, key)

    def members(self) -> builtins.list[Member]:
        """Returns the processes that handle jobs, in the order of their ids."""
        return [Member._of(row) for row in self._connection.members()]

    def tallies(self, times: Iterable[datetime] = (), *, most: int = 0) -> builtins.list[Tally]:
        """Counts the jobs of each kind by state, and pending jobs by the time at which they are ready: the times rise,
        and divide them. No number exceeds `most`, unless that is 0."""
        return [Tally._of(row) for row in self._connection.tallies(tuple(map(_reading, times)), most)]

    def now(self) -> datetime:
        """The present time of the database's clock."""
        return _time(self._connection.now())

    def stats(self) -> dict[str, Any]:
        """Returns the counters of struct tw_durable_counts: of the connection that handles jobs, if there is one."""
        return (self._worker or self._connection).stats()

    # --- handling ---

    def handler(
        self, kind: str, *, attempts: int = 0, backoff: _Span = 0, backoff_max: _Span = 0, running: int = 0,
        rate: int = 0, per: _Span = 0
    ) -> Callable[[_Handler], _Handler]:
        """Decorates the function that handles a kind. The function receives a Fire, and returns None if the work is
        done, or again(). An exception is a failed try, and its text the reason. Several threads may call the function
        at the same time. Coroutines run on an event loop on a thread of its own, and hold no thread while they wait.

        Limits for all processes together: at most `running` jobs of the kind run at a time, and at most `rate` start
        within any time of the length `per`, by default a second. See struct tw_durable_handling in durable.h.
        """
        def add(function: _Handler) -> _Handler:
            with self._lock:
                if kind in self._handlers:
                    raise ValueError(f"the kind {kind} has a handler already")
                arguments = (kind, self._wrapped(function), attempts, _ns(backoff), _ns(backoff_max), running, rate,
                             _ns(per))
                if self._worker is not None:
                    self._worker.register(*arguments)
                self._handlers[kind] = arguments
            return function
        return add

    def _wrapped(self, function):
        def call(native):
            fire = Fire(native)
            result = function(fire)
            if not inspect.iscoroutine(result):
                return _answer(result)
            if self._loop is None:  # on virtual time
                return _answer(asyncio.run(result))
            self._loop.run(result, fire)
            return _LATER
        return call

    def start(self) -> None:
        """Handles jobs in the background, until close()."""
        with self._lock:
            if self._worker is not None:
                raise ValueError("these jobs are handled already")
            self._loop = _Loop()
            try:
                worker = Connection(self._address, True, *self._options)
                for arguments in self._handlers.values():
                    worker.register(*arguments)
            except BaseException:
                self._loop.close()
                raise
            self._worker = worker

    def run(self, processes: int = 1) -> None:
        """Handles jobs until SIGTERM or SIGINT, and closes the connection: running handlers finish, and their answers
        reach the database. Only on the main thread. With several processes, this one starts the others, and restarts
        those that crash; it must not have started threads before.
        """
        stop = _Signals()
        try:
            if processes == 1:
                self.start()
                stop.wait()
            else:
                self._connection.close()  # SQLite's connections must not be open at a fork
                _run_processes(self._run_child, processes, stop)
        finally:
            try:
                self.close()
            finally:
                stop.restore()

    def _run_child(self):
        self._connection = Connection(self._address, False, *self._options)
        self.run()

    def advance(self, seconds: _Span) -> None:
        """Moves virtual time, and runs what becomes due."""
        self._connection.advance(_ns(seconds))

    def close(self) -> None:
        """Waits for running handlers, and stores their answers. Raises TimeoutError if some have not reached the
        database: their jobs fire again."""
        failure = None
        if self._worker is not None and self._worker is not self._connection:
            try:
                self._worker.close()
            except TimeoutError as error:
                failure = error
        self._connection.close()
        if self._loop is not None:
            self._loop.close()
        self._worker = self._loop = None
        _open.discard(self)
        if failure is not None:
            raise failure

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        self.close()


class _Signals:
    """Writes signals into a pipe, instead of what they did before. Python calls signal handlers between any two
    instructions, so they must not wait for a lock."""

    def __init__(self):
        self._read, self._write = os.pipe()
        self._former = {}
        self.note(signal.SIGTERM, b"stop")
        self.note(signal.SIGINT, b"stop")

    def note(self, number, text):
        self._former[number] = signal.signal(number, lambda *_: os.write(self._write, text[:1]))

    def wait(self):
        """Returns True if a signal says that this process must stop."""
        return os.read(self._read, 1) == b"s"

    def restore(self):
        for number, former in self._former.items():
            signal.signal(number, former)
        os.close(self._read)
        os.close(self._write)


def _run_processes(run, count, stop):
    """Forks processes that call run(), and restarts those that end by themselves."""
    def start():
        sys.stdout.flush()
        sys.stderr.flush()
        child = os.fork()
        if child != 0:
            return child
        status = 1
        try:
            stop.restore()
            run()
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(status)

    stop.note(signal.SIGCHLD, b"child")
    children = {start() for _ in range(count)}
    while not stop.wait():
        ended = {child for child in children if os.waitpid(child, os.WNOHANG)[0] != 0}
        if ended:
            time.sleep(_PAUSE_BEFORE_RESTART)
            children = children - ended | {start() for _ in ended}
    for child in children:
        os.kill(child, signal.SIGTERM)
    for child in children:
        os.waitpid(child, 0)


_open = weakref.WeakSet()


def _close_all():
    for jobs in list(_open):
        jobs.close()


atexit.register(_close_all)
