"""One watch on its way from the cluster to a client, with the faults of its events."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from typing import TYPE_CHECKING, Any, Final

import msgspec

from launchguard.lab.actions import Action
from launchguard.lab.broadcast import wait_any
from launchguard.lab.cluster.api import decoded_json
from launchguard.lab.history import History, Kind
from launchguard.lab.kube.changelog import ChangeType
from launchguard.lab.kube.objects import identity, version_of
from launchguard.lab.kube.shaping import Shaper, WatchEvent, draw_on
from launchguard.lab.kube.status import too_old
from launchguard.lab.kube.watching import WatchEnd, WatchOver

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    import aiohttp

    from launchguard.lab.faults import FaultEngine
    from launchguard.lab.kube.call import Call

_CHANGES: Final = frozenset(ChangeType)


class RelayedWatch:
    """Passes events on as they come, but for faults.

    Args:
        send: sends bytes to the client, and raises ConnectionError when it is gone.
        seen: called with each event before any client gets it.
    """

    def __init__(
        self,
        call: Call,
        faults: FaultEngine,
        history: History,
        *,
        send: Callable[[bytes], Awaitable[None]],
        seen: Callable[[WatchEvent], None],
    ) -> None:
        self.call = call
        self.dropped = asyncio.Event()
        self._faults = faults
        self._history = history
        self._send_bytes = send
        self._seen = seen
        self._shaper = Shaper()
        self._came: deque[WatchEvent] = deque()
        self._news = asyncio.Event()
        self._last_version = 0

    async def run(self, source: aiohttp.StreamReader) -> WatchEnd:
        """Serve to the end, which is the cluster's own if nothing else ends it."""
        reading = asyncio.create_task(self._read(source))
        try:
            await self._serve(reading)
        except WatchOver as end:
            return end.why
        except ConnectionError:
            return WatchEnd.CLIENT
        finally:
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)
        return WatchEnd.TIMEOUT

    async def refuse(self) -> WatchEnd:
        """Tell the client that the version from which it wants to watch is forgotten."""
        await self._send(_gone_event(self._last_version))
        return WatchEnd.EXPIRED

    async def _read(self, source: aiohttp.StreamReader) -> None:
        try:
            while line := await source.readline():
                told = decoded_json(line)
                event = WatchEvent(told["type"], told["object"])
                self._seen(event)
                self._came.append(event)
                self._news.set()
        finally:
            self._news.set()

    async def _serve(self, reading: asyncio.Task[None]) -> None:
        while True:
            self._news.clear()
            over = reading.done()
            while self._came:
                await self._take(self._came.popleft())
            for event in self._shaper.pop_due(time.monotonic()):
                await self._send(event)
            if over and self._shaper.empty:
                break
            due = self._shaper.next_due()
            # Reading that ends sets the news a moment before it counts as done.
            patience = [] if due is None else [due - time.monotonic()]
            await _wait(self._news, self.dropped, reading, over=over, seconds=min(patience, default=None))
            if self.dropped.is_set():
                raise WatchOver(WatchEnd.DROPPED)
        if reading.exception() is not None:
            # The cluster's own connection was lost: so is the client's.
            raise WatchOver(WatchEnd.DROPPED)

    async def _take(self, event: WatchEvent) -> None:
        """Queue an event, as the faults shape it."""
        now = time.monotonic()
        self._last_version = max(self._last_version, version_of(event.object))
        firings = draw_on(event, self.call, self._faults) if event.type in _CHANGES else {}
        if Action.WATCH_DROP in firings:
            raise WatchOver(WatchEnd.DROPPED)
        if Action.WATCH_GONE in firings:
            await self._send(_gone_event(self._last_version))
            raise WatchOver(WatchEnd.EXPIRED)
        self._shaper.take(event, now, firings)

    async def _send(self, event: WatchEvent) -> None:
        await self._send_bytes(msgspec.json.encode({"type": event.type, "object": event.object}) + b"\n")
        about: dict[str, Any] = (
            {"message": event.object.get("message")} if event.type == "ERROR" else identity(event.object)
        )
        self._history.record(Kind.WATCH_EVENT, req=self.call.id, type=event.type, object=about)


def _gone_event(version: int) -> WatchEvent:
    return WatchEvent("ERROR", too_old(version, version + 1).status())


async def _wait(
    news: asyncio.Event, dropped: asyncio.Event, reading: asyncio.Task[None], *, over: bool, seconds: float | None
) -> None:
    """Wait for an event, the drop, the end of reading unless it is known, or the time that is given."""
    ringing = asyncio.create_task(wait_any(news, dropped))
    try:
        waits = {ringing} if over else {ringing, reading}
        timeout = None if seconds is None else max(seconds, 0)
        await asyncio.wait(waits, timeout=timeout, return_when=asyncio.FIRST_COMPLETED)
    finally:
        ringing.cancel()
