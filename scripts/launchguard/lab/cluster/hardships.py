"""What befalls pods in a real cluster, by means that Kubernetes has, and without touching anybody else's pods.

A pod is changed on its way to the cluster, so that the fault cannot come too late:

unschedulable, cordon  a scheduling gate keeps every node from it until the lab takes the gate away
slow-start             it mounts a config map that is made only later
drained                it mounts a config map that is never made, and is evicted once it has a node
image-pull             its image is one that no registry has
start-error            its command is a program that no image has
"""

from __future__ import annotations

import asyncio
import copy
import traceback
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Any, Final

from launchguard.lab.actions import Action, Point
from launchguard.lab.cluster.api import MERGE, STRATEGIC, pod_path
from launchguard.lab.cluster.home import make_config_map
from launchguard.lab.history import History, Kind
from launchguard.lab.kube.objects import JsonObject, key_of, metadata, part, uid_of
from launchguard.lab.kube.pods import ended
from launchguard.lab.kubelet.subject import pod_subject

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from launchguard.lab.cluster.api import Api
    from launchguard.lab.cluster.home import Home
    from launchguard.lab.faults import FaultEngine, Firing

GATE: Final = "launchguard.lab/held"
_HELD: Final = "launchguard-lab-held"
_NO_IMAGE: Final = "launchguard.invalid/absent:1"
_NO_PROGRAM: Final = "/launchguard-lab/no-such-program"
# Why a pod's gate is kept.
_CORDON: Final = "cordon"
_FAULT: Final = "fault"


@dataclass(frozen=True, slots=True)
class Burden:
    """A fault that was put on a pod, and what is needed to take it off again.

    Args:
        action: None for a cordon.
        image: the pod's own one.
        config_map: the one that the pod waits for.
    """

    action: Action | None = None
    seconds: float | None = None
    image: str = ""
    config_map: str = ""


class Hardships:
    """Lays faults on new pods, and takes them off again."""

    def __init__(self, api: Api, home: Home, faults: FaultEngine, history: History) -> None:
        self._api = api
        self._home = home
        self.faults = faults
        self._history = history
        self._cordoned = False
        self._numbers = count(1)
        self._held: dict[str, tuple[str, set[str]]] = {}
        self._to_evict: set[str] = set()
        self._running: set[asyncio.Task[None]] = set()

    def lay_on(self, pod: JsonObject) -> tuple[JsonObject, list[Burden]]:
        """Give a pod as it is to be created, and the faults that this puts on it."""
        subject = pod_subject(pod)
        firings = [*self.faults.draw(Point.SCHEDULE, subject), *self.faults.draw(Point.START, subject)]
        changed = copy.deepcopy(pod)
        if self._cordoned or any(firing.action is Action.UNSCHEDULABLE for firing in firings):
            changed["spec"].setdefault("schedulingGates", []).append({"name": GATE})
        cordon = [Burden()] if self._cordoned else []
        return changed, cordon + [self._laid_on(changed, firing) for firing in firings]

    def _laid_on(self, pod: JsonObject, firing: Firing) -> Burden:
        container, seconds = pod["spec"]["containers"][0], firing.params.get("seconds")
        match firing.action:
            case Action.IMAGE_PULL:
                image, container["image"] = container["image"], _NO_IMAGE
                return Burden(firing.action, seconds, image=image)
            case Action.START_ERROR:
                container["command"] = [_NO_PROGRAM]
            case Action.SLOW_START | Action.DRAINED:
                name = f"{_HELD}-{self._home.mark}-{next(self._numbers)}"
                pod["spec"].setdefault("volumes", []).append({"name": _HELD, "configMap": {"name": name}})
                container.setdefault("volumeMounts", []).append({"name": _HELD, "mountPath": f"/{_HELD}"})
                return Burden(firing.action, seconds, config_map=name)
            case _:
                pass
        return Burden(firing.action, seconds)

    def begin(self, pod: JsonObject, burdens: list[Burden]) -> None:
        """Begin to take the faults off a pod that the cluster has now."""
        for burden in burdens:
            match burden:
                case Burden(None):
                    self._hold(pod, _CORDON)
                    if not self._cordoned:
                        # It was lifted while the pod was on its way.
                        self._start(self._release(uid_of(pod), _CORDON))
                case Burden(Action.UNSCHEDULABLE, seconds):
                    self._hold(pod, _FAULT)
                    self._start(self._release_later(pod, seconds or 0))
                case Burden(Action.IMAGE_PULL, float() | int() as seconds):
                    self._start(self._give_image(pod, burden.image, seconds))
                case Burden(Action.SLOW_START, seconds):
                    self._start(self._make_config_map(burden.config_map, seconds or 0))
                case Burden(Action.DRAINED):
                    self._to_evict.add(uid_of(pod))
                case _:
                    pass

    def see(self, pod: JsonObject) -> None:
        """Look at a pod's new state, in case that something is to be done about it."""
        uid, bound = uid_of(pod), bool(part(pod, "spec").get("nodeName"))
        if uid in self._to_evict and bound:
            self._to_evict.discard(uid)
            self._start(self.evict(key_of(pod).name))
        if bound and uid in self._held:
            why = "a pod got a node in spite of its scheduling gate: faults that hold pods back need Kubernetes 1.27"
            self._history.record(Kind.BUG, pod=key_of(pod).name, error=why)
            del self._held[uid]

    async def cordon(self, *, unschedulable: bool = True) -> None:
        """Keep new pods of the lab from all nodes, or let those go that were kept."""
        self._cordoned = unschedulable
        if not unschedulable:
            for uid in list(self._held):
                await self._release(uid, _CORDON)

    async def drain(self, pods: list[JsonObject]) -> None:
        """Cordon, and evict those of the lab's pods that have a node."""
        await self.cordon()
        for pod in pods:
            if part(pod, "spec").get("nodeName") and not ended(pod):
                await self.evict(key_of(pod).name)

    async def evict(self, name: str) -> None:
        """Evict a pod through the API.

        Raises:
            LaunchguardError: the cluster refuses.
        """
        about = {"name": name, "namespace": self._home.namespace}
        body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": about}
        await self._api.ask("POST", pod_path(self._home.namespace, name, "eviction"), body, accept=[404])

    async def stop(self) -> None:
        for task in self._running:
            task.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)

    def _hold(self, pod: JsonObject, why: str) -> None:
        self._held.setdefault(uid_of(pod), (key_of(pod).name, set()))[1].add(why)

    async def _release_later(self, pod: JsonObject, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await self._release(uid_of(pod), _FAULT)

    async def _release(self, uid: str, why: str) -> None:
        """Let one reason to hold a pod go, and with the last one its gate."""
        name, reasons = self._held.get(uid, ("", set()))
        reasons.discard(why)
        if name and not reasons:
            del self._held[uid]
            await self._patch(name, {"metadata": {"uid": uid}, "spec": {"schedulingGates": None}}, MERGE)

    async def _give_image(self, pod: JsonObject, image: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        container = {"name": pod["spec"]["containers"][0]["name"], "image": image}
        patch = {"metadata": {"uid": uid_of(pod)}, "spec": {"containers": [container]}}
        await self._patch(str(metadata(pod)["name"]), patch, STRATEGIC)

    async def _patch(self, name: str, patch: JsonObject, media_type: str) -> None:
        # 404: it was deleted meanwhile; 409: and another one of its name made.
        await self._api.ask(
            "PATCH", pod_path(self._home.namespace, name), patch, media_type=media_type, accept=[404, 409]
        )

    async def _make_config_map(self, name: str, seconds: float) -> None:
        await asyncio.sleep(seconds)
        await make_config_map(self._api, self._home, name, {})

    def _start(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(self._guarded(work))
        self._running.add(task)
        task.add_done_callback(self._running.discard)

    async def _guarded(self, work: Coroutine[Any, Any, None]) -> None:
        try:
            await work
        except Exception:  # noqa: BLE001  recorded, so that no verdict is built on this run
            self._history.record(Kind.BUG, error=traceback.format_exc(limit=-3))
