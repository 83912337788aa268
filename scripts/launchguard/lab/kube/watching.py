"""Watches: the changes of a resource, as one client's selectors show them, until it leaves or time is up."""

from __future__ import annotations

import asyncio
import random
import time
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final, NoReturn

import msgspec

from launchguard.lab.actions import Action
from launchguard.lab.broadcast import Broadcast, wait_any
from launchguard.lab.history import History, Kind
from launchguard.lab.kube.changelog import Change, ChangeType
from launchguard.lab.kube.objects import JsonObject, identity, metadata
from launchguard.lab.kube.requests import is_true, whole_number
from launchguard.lab.kube.shaping import Shaper, WatchEvent, draw_on
from launchguard.lab.kube.status import ApiError, too_old

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from launchguard.lab.faults import FaultEngine
    from launchguard.lab.kube.call import Call
    from launchguard.lab.kube.registry import Registry
    from launchguard.lab.kube.selectors import Filter

_INITIAL_END: Final = {"k8s.io/initial-events-end": "true"}


class WatchEnd(StrEnum):
    """Why a watch ended."""

    TIMEOUT = "timeout"
    EXPIRED = "expired"
    """Its version fell out of the window, or a fault said so."""
    DROPPED = "dropped"
    """A fault or a command cut the connection."""
    CLIENT = "client"


class WatchOver(Exception):  # noqa: N818  no error: the way out of nested calls
    """A watch is to end now."""

    def __init__(self, why: WatchEnd) -> None:
        super().__init__(why)
        self.why = why


@dataclass(frozen=True, slots=True)
class WatchSettings:
    """Seconds between bookmarks, and the time out of a watch that asks for none (drawn up to twice as long)."""

    bookmark_every: float = 60.0
    timeout: float = 1800.0


class Watches:
    """Makes watch streams and can cut them all."""

    def __init__(self, registry: Registry, faults: FaultEngine, history: History, settings: WatchSettings) -> None:
        self.registry = registry
        self.faults = faults
        self.history = history
        self.settings = settings
        self.changed = Broadcast()
        self._open: set[WatchStream] = set()
        registry.store.on_commit(lambda _resource, _change: self.changed.ring())

    async def run(self, call: Call, send: Callable[[bytes], Awaitable[None]]) -> WatchEnd:
        """Serve a watch to its end; `send` sends bytes and raises ConnectionError when the client is gone."""
        stream = WatchStream(self, call, send)
        self._open.add(stream)
        try:
            await stream.serve()
        except WatchOver as end:
            return end.why
        except ConnectionError:
            return WatchEnd.CLIENT
        finally:
            self._open.discard(stream)
        return WatchEnd.TIMEOUT

    def drop(self, resource: str = "", user: str = "") -> int:
        """Cut the open watches of a resource or user, or all; gives how many."""
        cut = [
            stream
            for stream in self._open
            if resource in {"", stream.call.target.resource.plural} and user in {"", stream.call.user}
        ]
        for stream in cut:
            stream.dropped.set()
        return len(cut)


class WatchStream:
    """One client's watch."""

    def __init__(self, watches: Watches, call: Call, send: Callable[[bytes], Awaitable[None]]) -> None:
        self.call = call
        self.dropped = asyncio.Event()
        self._watches = watches
        self._store = watches.registry.store
        self._log = self._store.log(call.target.resource)
        self._filter = call.filter()
        self._presenter = call.presenter(watches.registry.clock.now())
        self._send_bytes = send
        self._shaper = Shaper()
        self._first = True
        self._cursor = 0
        asked = whole_number(call.query, "timeoutSeconds")
        spread = 1 + random.random()  # noqa: S311  spreads reconnections, as the real server does
        self._deadline = time.monotonic() + (asked or watches.settings.timeout * spread)
        self._next_bookmark = time.monotonic() + watches.settings.bookmark_every

    async def serve(self) -> None:
        await self._begin()
        while time.monotonic() < self._deadline:
            ticket = self._watches.changed.ticket()
            await self._take_changes()
            await self._send_due()
            await self._bookmark_if_due()
            await wait_any(ticket, self.dropped, timeout=max(self._wake_at() - time.monotonic(), 0))
            if self.dropped.is_set():
                raise WatchOver(WatchEnd.DROPPED)
        # A last bookmark lets the client go on from here, however idle its own objects were.
        self._next_bookmark = 0.0
        await self._bookmark_if_due()

    async def _begin(self) -> None:
        asked = self.call.query.get("resourceVersion") or "0"
        initial = is_true(self.call.query, "sendInitialEvents")
        if asked == "0" or initial:
            self._cursor = self._store.version
            target = self.call.target
            for obj in self._filter.pick(self._store.scan(target.resource, target.namespace)):
                await self._take(WatchEvent(ChangeType.ADDED, obj))
            await self._send_due()
        else:
            self._cursor = whole_number(self.call.query, "resourceVersion") or 0
        if initial:
            await self._bookmark(_INITIAL_END)

    async def _take_changes(self) -> None:
        seen_all = self._store.version
        try:
            changes = self._log.since(self._cursor)
        except ApiError as error:
            await self._expire(error)
        for change in changes:
            self._cursor = change.version
            event = seen_through(self._filter, change)
            if event is not None:
                await self._take(event)
        # A client may ask for a version that is still to come.
        self._cursor = max(self._cursor, seen_all)

    async def _take(self, event: WatchEvent) -> None:
        """Queue an event, as the faults shape it."""
        now = time.monotonic()
        firings = draw_on(event, self.call, self._watches.faults)
        if Action.WATCH_DROP in firings:
            raise WatchOver(WatchEnd.DROPPED)
        if Action.WATCH_GONE in firings:
            await self._expire(too_old(self._cursor, self._store.version))
        self._shaper.take(event, now, firings)

    async def _expire(self, error: ApiError) -> NoReturn:
        await self._send("ERROR", error.status(), {"message": error.message})
        raise WatchOver(WatchEnd.EXPIRED)

    async def _send_due(self) -> None:
        for event in self._shaper.pop_due(time.monotonic()):
            shown = self._presenter.event(event.object, first=self._first)
            self._first = False
            await self._send(event.type, shown, identity(event.object))

    async def _bookmark_if_due(self) -> None:
        if time.monotonic() >= self._next_bookmark and self._shaper.empty:
            await self._bookmark({})

    async def _bookmark(self, annotations: dict[str, str]) -> None:
        """Tell the client up to where it has seen everything, if it wants to know."""
        self._next_bookmark = time.monotonic() + self._watches.settings.bookmark_every
        if not is_true(self.call.query, "allowWatchBookmarks"):
            return
        meta: JsonObject = {"resourceVersion": str(self._cursor), "creationTimestamp": None}
        if annotations:
            meta["annotations"] = annotations
        await self._send("BOOKMARK", self._presenter.bookmark(meta), {"rv": self._cursor})

    async def _send(self, kind: str, obj: JsonObject, about: dict[str, Any]) -> None:
        await self._send_bytes(msgspec.json.encode({"type": kind, "object": obj}) + b"\n")
        self._watches.history.record(Kind.WATCH_EVENT, req=self.call.id, type=kind, object=about)

    def _wake_at(self) -> float:
        due = self._shaper.next_due()
        times = [self._deadline, self._next_bookmark, *([] if due is None else [due])]
        return min(times)


def seen_through(chosen: Filter, change: Change) -> WatchEvent | None:
    """Tell what a change is to a client that sees only what its selectors pass.

    An object that leaves the selection is DELETED for the client, in the state that it last saw: this is how
    KubernetesExecutor learns that another scheduler adopted its pod.
    """
    before = change.previous is not None and chosen.passes(change.previous)
    if change.type is ChangeType.DELETED:
        return WatchEvent(ChangeType.DELETED, change.object) if before else None
    after = chosen.passes(change.object)
    if before and not after and change.previous is not None:
        meta = metadata(change.previous) | {"resourceVersion": str(change.version)}
        return WatchEvent(ChangeType.DELETED, {**change.previous, "metadata": meta})
    if not after:
        return None
    return WatchEvent(ChangeType.MODIFIED if before else ChangeType.ADDED, change.object)
