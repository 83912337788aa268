"""What a kubelet knows of one pod, and how it tells the API server."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from launchguard.lab.broadcast import wait_any
from launchguard.lab.history import History, Kind
from launchguard.lab.kube.objects import JsonObject, key_of, part, uid_of
from launchguard.lab.kube.resources import PODS
from launchguard.lab.kubelet.containers import ContainerRecord, State, Waiting
from launchguard.lab.kubelet.podstatus import Placement, pod_status, rejected_status

if TYPE_CHECKING:
    from launchguard.lab.faults import FaultEngine
    from launchguard.lab.kube.recorder import EventRecorder
    from launchguard.lab.kube.registry import Registry
    from launchguard.lab.kubelet.images import Images
    from launchguard.lab.kubelet.logfiles import LogShelf
    from launchguard.lab.kubelet.settings import KubeletSettings
    from launchguard.lab.kubelet.volumes import Volumes


@dataclass(frozen=True, slots=True)
class Node:
    """What the pods of all nodes share."""

    registry: Registry
    faults: FaultEngine
    history: History
    images: Images
    logs: LogShelf
    volumes: Volumes
    events: EventRecorder
    settings: KubeletSettings


class Stopped(Exception):  # noqa: N818  no failure: the pod is to end, whatever it was about to do
    """The pod is being ended."""


class PodRecord:
    """One pod on its node.

    Args:
        pod: as it was when its node got it.
        placement: its addresses.
    """

    def __init__(self, node: Node, pod: JsonObject, placement: Placement) -> None:
        self.node = node
        self.pod = pod
        self.key, self.uid = key_of(pod), uid_of(pod)
        self.placement = placement
        spec = part(pod, "spec")
        init = spec.get("initContainers") or []
        begin = Waiting("PodInitializing" if init else "ContainerCreating")
        self.containers = [
            *(ContainerRecord(one, Waiting("PodInitializing"), init=True) for one in init),
            *(ContainerRecord(one, begin) for one in spec["containers"]),
        ]
        self.policy = str(spec.get("restartPolicy", "Always"))
        self.stop = asyncio.Event()
        self.failure: tuple[str, str] | None = None
        """Reason and message, once the kubelet itself decided to end the pod."""

    @property
    def about(self) -> dict[str, str]:
        """Who this is, for the history."""
        return {"pod": self.key.name, "namespace": self.key.namespace, "uid": self.uid}

    async def pause(self, seconds: float | None) -> None:
        """Let time pass; None: for ever.

        Raises:
            Stopped: the pod is to end.
        """
        await wait_any(self.stop, timeout=seconds)
        if self.stop.is_set():
            raise Stopped

    def change(self, container: ContainerRecord, state: State) -> None:
        """Put a container in a state, and tell the API server."""
        container.state = state
        self.node.history.record(Kind.CONTAINER, **self.about, container=container.name, state=state.shown())
        self.write()

    def write(self, *, terminal: bool = False) -> None:
        """Write the pod's status; `terminal` once its processes are gone for its deletion."""
        now, failure = self.node.registry.clock.stamp(), self.failure
        pod = self._stored()
        if pod is not None:
            args = (pod, self.containers, self.placement, now)
            self._put(pod, pod_status(*args, terminal=terminal, failure=failure))

    def reject(self, reason: str, message: str) -> None:
        """Turn the pod away before any container is looked at."""
        pod = self._stored()
        if pod is not None:
            self._put(pod, rejected_status(pod, reason, message, self.placement.started_at))
            self.node.events.warning(pod, reason, message)

    def _stored(self) -> JsonObject | None:
        """Give the pod's object as it is now; a new pod of the same name is not ours."""
        pod = self.node.registry.store.find(PODS, self.key)
        return pod if pod is not None and uid_of(pod) == self.uid else None

    def _put(self, pod: JsonObject, status: JsonObject) -> None:
        self.node.registry.update(PODS, self.key, {**pod, "status": status}, "status")
