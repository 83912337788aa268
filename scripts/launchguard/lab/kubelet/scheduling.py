"""The scheduler: gives each waiting pod a node that has room."""

from __future__ import annotations

import time
from collections import Counter
from typing import TYPE_CHECKING

from launchguard.lab.actions import Point
from launchguard.lab.broadcast import Broadcast, wait_any
from launchguard.lab.kube.objects import JsonObject, key_of, metadata, part, stamp, uid_of
from launchguard.lab.kube.pods import ended, with_condition
from launchguard.lab.kube.recorder import EventRecorder
from launchguard.lab.kube.resources import NODES, PODS
from launchguard.lab.kubelet.subject import pod_subject

if TYPE_CHECKING:
    from launchguard.lab.faults import FaultEngine
    from launchguard.lab.kube.registry import Registry


class Scheduler:
    """Binds pods in the order of their creation."""

    def __init__(self, registry: Registry, faults: FaultEngine) -> None:
        self._registry = registry
        self._store = registry.store
        self._faults = faults
        self._events = EventRecorder(registry, "default-scheduler")
        self._changed = Broadcast()
        self._not_before: dict[str, float] = {}
        self._told: dict[str, str] = {}
        self._store.on_commit(lambda resource, _change: self._changed.ring() if resource in {PODS, NODES} else None)

    async def run(self) -> None:
        while True:
            ticket = self._changed.ticket()
            again = self._pass()
            await wait_any(ticket, timeout=again)

    def _pass(self) -> float | None:
        """Look at all waiting pods once; gives after how many seconds to look again in any case."""
        waiting = [pod for pod in self._store.scan(PODS) if _is_waiting(pod)]
        now = time.monotonic()
        later = [left for pod in sorted(waiting, key=_age) if (left := self._consider(pod, now)) > 0]
        return min(later, default=None)

    def _consider(self, pod: JsonObject, now: float) -> float:
        """Bind a pod if a node takes it; gives the seconds that a fault holds it back."""
        uid = uid_of(pod)
        if uid not in self._not_before:
            held = sum(firing.params["seconds"] for firing in self._faults.draw(Point.SCHEDULE, pod_subject(pod)))
            self._not_before[uid] = now + held
        left = self._not_before[uid] - now
        node = self._roomiest() if left <= 0 else None
        if node is not None:
            bound = self._registry.bind(key_of(pod), node)
            name = f"{key_of(pod).namespace}/{key_of(pod).name}"
            self._events.normal(bound, "Scheduled", f"Successfully assigned {name} to {node}")
            return 0
        self._tell_unschedulable(pod)
        return max(left, 0)

    def _roomiest(self) -> str | None:
        taken = Counter(str(part(pod, "spec").get("nodeName")) for pod in self._store.scan(PODS) if not ended(pod))
        room = {
            str(metadata(node)["name"]): int(part(part(node, "status"), "allocatable")["pods"])
            - taken[str(metadata(node)["name"])]
            for node in self._store.scan(NODES)
            if not part(node, "spec").get("unschedulable")
        }
        best = max(room, key=lambda name: room[name], default=None)
        return best if best is not None and room[best] > 0 else None

    def _tell_unschedulable(self, pod: JsonObject) -> None:
        nodes = list(self._store.scan(NODES))
        cordoned = sum(bool(part(node, "spec").get("unschedulable")) for node in nodes)
        why = f"{cordoned} node(s) were unschedulable" if cordoned else "1 Too many pods"
        message = f"0/{len(nodes)} nodes are available: {why}."
        if self._told.get(uid_of(pod)) == message:
            return
        self._told[uid_of(pod)] = message
        condition = {
            "type": "PodScheduled",
            "status": "False",
            "lastProbeTime": None,
            "lastTransitionTime": stamp(self._registry.clock.now()),
            "reason": "Unschedulable",
            "message": message,
        }
        self._registry.update(PODS, key_of(pod), with_condition(pod, condition), "status")
        self._events.warning(pod, "FailedScheduling", message)


def _is_waiting(pod: JsonObject) -> bool:
    spec = part(pod, "spec")
    held = spec.get("nodeName") or spec.get("schedulingGates")
    return not ended(pod) and not held and "deletionTimestamp" not in metadata(pod)


def _age(pod: JsonObject) -> int:
    return int(metadata(pod)["resourceVersion"])
