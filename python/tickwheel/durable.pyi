import builtins
import enum
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

_Span = float | timedelta
_Missed = Literal["coalesce", "burst", "skip"]

__all__ = ["Again", "Entry", "Event", "Fire", "Job", "Jobs", "State", "again"]

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

@dataclass(frozen=True)
class Again:
    delay: _Span

def again(delay: _Span = 0.0) -> Again: ...

@dataclass(frozen=True)
class Job:
    kind: str
    key: str
    payload: Any = b""
    delay: _Span = 0
    at: datetime | None = None
    every: _Span = 0
    cron: str | None = None
    zone: str | None = None
    missed: _Missed = "coalesce"
    grace: _Span = 0
    group: str | None = None
    waits_for: str | None = None
    within: _Span = 0

@dataclass(frozen=True)
class Entry:
    kind: str
    key: str
    payload: bytes
    due: datetime
    ready: datetime | None
    every: timedelta
    cron: str | None
    zone: str | None
    state: State
    attempts: int
    token: int
    holder: str | None
    error: str | None
    group: str | None
    waits_for: str | None
    def text(self) -> str: ...
    def json(self) -> Any: ...

class Fire:
    kind: str
    key: str
    payload: bytes
    due: datetime
    overruns: int
    attempt: int
    token: int
    def lease(self) -> float: ...
    def text(self) -> str: ...
    def json(self) -> Any: ...

_Handler = TypeVar("_Handler", bound=Callable[[Fire], Again | None] | Callable[[Fire], Awaitable[Again | None]])

class Jobs:
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
        timeout: _Span = 0,
        threads: int = 0,
        must_exist: bool = False,
        confirmed_only: bool = False,
    ) -> None: ...
    def put(
        self,
        kind: str,
        key: str,
        payload: Any = b"",
        *,
        keep: bool = False,
        delay: _Span = 0,
        at: datetime | None = None,
        every: _Span = 0,
        cron: str | None = None,
        zone: str | None = None,
        missed: _Missed = "coalesce",
        grace: _Span = 0,
        group: str | None = None,
        waits_for: str | None = None,
        within: _Span = 0,
    ) -> None: ...
    def add(
        self,
        kind: str,
        key: str,
        payload: Any = b"",
        *,
        delay: _Span = 0,
        at: datetime | None = None,
        every: _Span = 0,
        cron: str | None = None,
        zone: str | None = None,
        missed: _Missed = "coalesce",
        grace: _Span = 0,
        group: str | None = None,
        waits_for: str | None = None,
        within: _Span = 0,
    ) -> bool: ...
    def put_many(self, jobs: Iterable[Job], *, keep: bool = False) -> None: ...
    def cancel(self, kind: str, key: str) -> bool: ...
    def requeue(self, kind: str | None = None, key: str | None = None) -> int: ...
    def get(self, kind: str, key: str) -> Entry | None: ...
    def list(
        self,
        kind: str | None = None,
        *,
        states: State = ...,
        after: str | None = None,
        limit: int = 0,
        group: str | None = None,
    ) -> builtins.list[Entry]: ...
    def count(self, kind: str | None = None, *, states: State = ..., group: str | None = None) -> int: ...
    def now(self) -> datetime: ...
    def stats(self) -> dict[str, Any]: ...
    def handler(
        self, kind: str, *, attempts: int = 0, backoff: _Span = 0, backoff_max: _Span = 0
    ) -> Callable[[_Handler], _Handler]: ...
    def start(self) -> None: ...
    def run(self, processes: int = 1) -> None: ...
    def advance(self, seconds: _Span) -> None: ...
    def close(self) -> None: ...
    def __enter__(self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
