"""A bell that wakes every coroutine which waits for it."""

from __future__ import annotations

import asyncio


class Broadcast:
    """Take a ticket, look at the state, then wait on the ticket: no ring in between is missed."""

    def __init__(self) -> None:
        self._ticket = asyncio.Event()

    def ticket(self) -> asyncio.Event:
        return self._ticket

    def ring(self) -> None:
        rung, self._ticket = self._ticket, asyncio.Event()
        rung.set()


async def wait_any(*events: asyncio.Event, timeout: float | None = None) -> None:  # noqa: ASYNC109  the time out is a normal end
    """Wait until one of the events is set, or for `timeout` seconds; cancelled with its caller."""
    waits = [asyncio.ensure_future(event.wait()) for event in events]
    try:
        await asyncio.wait(waits, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for wait in waits:
            wait.cancel()
