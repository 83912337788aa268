"""An event loop in a thread of its own, for what must go on beside the caller's code."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Iterator
    from typing import Any

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class InLoop:
    """Something that lives in a loop, the only thread that may touch its parts."""

    loop: asyncio.AbstractEventLoop

    def call(self, work: Callable[[], _T]) -> _T:
        """Run a function in the loop's thread."""

        async def called() -> _T:
            return work()

        return self.wait(called())

    def wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine in the loop's thread."""
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()


@contextlib.contextmanager
def loop_thread(name: str) -> Iterator[InLoop]:
    """Run a loop until the end of the context."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name=name, daemon=True)
    thread.start()
    try:
        yield InLoop(loop)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
