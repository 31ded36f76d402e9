import asyncio
from collections.abc import Callable, Coroutine
from contextvars import Context
from selectors import BaseSelector
from typing import Any, TypeVar, TypeVarTuple, Unpack, final

_T = TypeVar("_T")
_Ts = TypeVarTuple("_Ts")

__all__ = ["EventLoop", "TimerHandle", "run"]

@final
class TimerHandle:
    @property
    def callback(self) -> Callable[..., object] | None: ...
    @property
    def args(self) -> tuple[Any, ...] | None: ...
    def cancel(self) -> None: ...
    def cancelled(self) -> bool: ...
    def when(self) -> float: ...
    def get_context(self) -> Context: ...

class EventLoop(asyncio.SelectorEventLoop):
    def __init__(self, selector: BaseSelector | None = None) -> None: ...
    def call_later(  # type: ignore[override]
        self,
        delay: float,
        callback: Callable[[Unpack[_Ts]], object],
        *args: Unpack[_Ts],
        context: Context | None = None,
    ) -> TimerHandle: ...
    def call_at(  # type: ignore[override]
        self,
        when: float,
        callback: Callable[[Unpack[_Ts]], object],
        *args: Unpack[_Ts],
        context: Context | None = None,
    ) -> TimerHandle: ...
    def pending_timers(self) -> list[TimerHandle]: ...

def run(main: Coroutine[Any, Any, _T], *, debug: bool | None = None) -> _T: ...
