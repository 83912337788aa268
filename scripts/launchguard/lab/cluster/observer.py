"""The lab's own view of its worker pods in a real cluster, written into the history as the stand-in does."""

from __future__ import annotations

import asyncio
import traceback
from typing import TYPE_CHECKING, Any, Final

import aiohttp

from launchguard.errors import LaunchguardError
from launchguard.lab.cluster.api import decoded_json, pod_path
from launchguard.lab.cluster.home import LABEL
from launchguard.lab.history import History, Kind
from launchguard.lab.kube.changelog import ChangeType
from launchguard.lab.kube.objects import (
    JsonObject,
    Key,
    identity,
    key_of,
    labels_of,
    metadata,
    part,
    phase_of,
    uid_of,
    version_of,
)
from launchguard.lab.kube.pods import ended

if TYPE_CHECKING:
    from collections.abc import Callable

    from launchguard.lab.cluster.api import Api
    from launchguard.lab.cluster.home import Home
    from launchguard.lab.kube.shaping import WatchEvent

_GONE: Final = 410
_PAUSE: Final = 1.0
_TRIES: Final = 10
_WATCH_SECONDS: Final = 240
# What a container runtime says of a container in which nothing ever ran.
_NEVER_RAN: Final = frozenset({"StartError", "ContainerCannotRun", "ContainerStatusUnknown"})


class _Expired(Exception):  # noqa: N818  no failure: the way to a new list
    """The version from which to watch is no longer known."""


class Observer:
    """Follows the pods that carry a label.

    Args:
        seen: called with each state of a pod.
    """

    def __init__(self, api: Api, home: Home, history: History, seen: Callable[[JsonObject], None]) -> None:
        self._api = api
        self._path = pod_path(home.namespace)
        self._mark = home.mark
        self._history = history
        self._seen = seen
        self._pods: dict[str, JsonObject] = {}
        self._gone: set[str] = set()
        self._states: dict[tuple[str, str], JsonObject] = {}
        self._started: set[tuple[str, str]] = set()
        self._following: asyncio.Task[None] | None = None
        self._failures = 0
        self.version = 0
        """The newest resource version seen."""

    async def start(self) -> None:
        """Look once, and follow from there.

        Raises:
            LaunchguardError: the cluster refuses.
        """
        await self._list()
        self._following = asyncio.create_task(self._follow(), name="observer")

    async def stop(self) -> None:
        if self._following is not None:
            self._following.cancel()
            await asyncio.gather(self._following, return_exceptions=True)

    def find(self, key: Key) -> JsonObject | None:
        return next((pod for pod in self._pods.values() if key_of(pod) == key), None)

    def known(self, pod: JsonObject) -> JsonObject:
        """Give a pod as it was seen last."""
        return self._pods.get(uid_of(pod), pod)

    def pods(self) -> list[JsonObject]:
        return list(self._pods.values())

    def take(self, kind: str, pod: JsonObject) -> None:
        """Learn a pod's state; one that is known already, or older than what is known, tells nothing."""
        uid = uid_of(pod)
        old = self._pods.get(uid)
        stale = old is not None and kind != ChangeType.DELETED and version_of(pod) <= version_of(old)
        if uid in self._gone or stale:
            return
        if kind == ChangeType.DELETED:
            self._pods.pop(uid, None)
            self._gone.add(uid)
        else:
            self._pods[uid] = pod
            kind = ChangeType.ADDED if old is None else ChangeType.MODIFIED
        self.version = max(self.version, version_of(pod))
        self._tell(kind, old or {}, pod)
        self._seen(pod)

    def overhear(self, event: WatchEvent) -> None:
        """Learn what another's watch tells: the lab must not know of a pod's end later than Airflow acts on it.

        Not of what that watch calls deleted: it may only have left its selection.
        """
        ours = labels_of(event.object).get(LABEL) == self._mark and "status" in event.object
        if ours and event.type in {ChangeType.ADDED, ChangeType.MODIFIED}:
            self.take(event.type, event.object)

    def _tell(self, kind: str, old: JsonObject, pod: JsonObject) -> None:
        about = identity(pod)
        self._history.record(Kind.OBJECT, type=str(kind), resource="pods", object=about)
        before, after = phase_of(old), phase_of(pod)
        if before != after:
            self._history.record(Kind.PHASE, object=about, before=before, after=after)
        for status in part(pod, "status").get("containerStatuses") or []:
            self._tell_container(pod, status)

    def _tell_container(self, pod: JsonObject, status: JsonObject) -> None:
        """Tell of a container what the stand-in's kubelet tells of its process."""
        which, state = (uid_of(pod), str(status["name"])), part(status, "state")
        if self._states.get(which) == state:
            return
        self._states[which] = state
        about = {"pod": key_of(pod).name, "namespace": key_of(pod).namespace, "uid": which[0], "container": which[1]}
        self._history.record(Kind.CONTAINER, **about, state=state)
        final = part(state, "terminated")
        ran = "running" in state or (final.get("startedAt") and final.get("reason") not in _NEVER_RAN)
        if ran and which not in self._started:
            self._started.add(which)
            self._history.record(Kind.PROCESS_START, **about)
        if final:
            self._history.record(Kind.PROCESS_EXIT, **about, exit_code=final["exitCode"])

    async def _follow(self) -> None:
        try:
            while True:
                try:
                    await self._watch()
                except _Expired:
                    await self._list()
                except (aiohttp.ClientError, LaunchguardError) as error:
                    await self._fail(error)
        except Exception:  # noqa: BLE001  recorded, so that no verdict is built on this run
            self._history.record(Kind.BUG, error=f"the lab lost sight of its pods: {traceback.format_exc(limit=-3)}")

    async def _fail(self, error: Exception) -> None:
        """Wait a moment; a cluster that stays away is no fault that Airflow could be judged by."""
        self._failures += 1
        if self._failures == _TRIES:
            self._history.record(Kind.BUG, error=f"the cluster was not reached {_TRIES} times in a row: {error}")
        await asyncio.sleep(_PAUSE)

    async def _list(self) -> None:
        """Take all pods as they are now; one that went unseen may have ended in any way."""
        listed = (await self._api.ask("GET", self._path, query={"labelSelector": f"{LABEL}={self._mark}"})).json
        found = listed.get("items") or []
        for pod in found:
            self.take(ChangeType.MODIFIED, pod)
        left = {uid_of(pod) for pod in found}
        for pod in [pod for uid, pod in self._pods.items() if uid not in left]:
            if not ended(pod):
                self._history.record(Kind.BUG, error=f"pod {key_of(pod).name} went while the lab could not look")
            self.take(ChangeType.DELETED, pod)
        self.version = int(metadata(listed)["resourceVersion"])

    async def _watch(self) -> None:
        query = (
            f"watch=true&allowWatchBookmarks=true&timeoutSeconds={_WATCH_SECONDS}"
            f"&resourceVersion={self.version}&labelSelector={LABEL}%3D{self._mark}"
        )
        async with self._api.send("GET", f"{self._path}?{query}") as answer:
            if answer.status == _GONE:
                raise _Expired
            answer.raise_for_status()
            self._failures = 0
            while line := await answer.content.readline():
                self._take_event(decoded_json(line))

    def _take_event(self, event: Any) -> None:  # noqa: ANN401  JSON
        match event:
            case {"type": "ERROR", "object": {"code": 410}}:
                raise _Expired
            case {"type": "BOOKMARK", "object": about}:
                self.version = max(self.version, version_of(about))
            case {"type": "ADDED" | "MODIFIED" | "DELETED" as kind, "object": pod}:
                self.take(kind, pod)
            case _:
                # A line that was cut short, or the server's own trouble: watch again from where we are.
                raise aiohttp.ClientPayloadError(f"no watch event: {event!r:.200}")
