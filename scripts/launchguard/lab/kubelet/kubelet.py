"""The kubelets of all nodes: they take the pods that are bound, and end those that are deleted."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import TYPE_CHECKING

from launchguard.lab.kube.changelog import Change, ChangeType
from launchguard.lab.kube.objects import JsonObject, Key, key_of, metadata, part, uid_of
from launchguard.lab.kube.pods import ended
from launchguard.lab.kube.resources import NODES, PODS, Resource
from launchguard.lab.kubelet.podstatus import Placement
from launchguard.lab.kubelet.scheduling import Scheduler
from launchguard.lab.kubelet.worker import PodWorker

if TYPE_CHECKING:
    from launchguard.lab.kubelet.podrecord import Node


class Kubelet:
    """Runs pods as processes, on nodes that share this machine."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._registry = registry = node.registry
        self._settings = node.settings
        self._workers: dict[str, PodWorker] = {}
        self._leaving: set[PodWorker] = set()
        self._numbers = count(2)
        self._scheduler = Scheduler(registry, node.faults)
        self._scheduling: asyncio.Task[None] | None = None
        self._stopping = False

    async def start(self) -> None:
        """Register the nodes and begin to take pods."""
        for place, name in enumerate(self._settings.nodes):
            self._registry.create(NODES, "", _node_object(name, place, self._settings.pods_per_node))
            status = _node_status(place, self._settings.pods_per_node, self._registry.clock.stamp())
            node = self._registry.store.get(NODES, Key("", name))
            self._registry.update(NODES, Key("", name), {**node, "status": status}, "status")
        self._registry.store.on_commit(self._see)
        self._scheduling = asyncio.create_task(self._scheduler.run(), name="scheduler")

    async def stop(self) -> None:
        """Kill all that runs, and wait until it is gone."""
        self._stopping = True
        if self._scheduling is not None:
            self._scheduling.cancel()
            await asyncio.gather(self._scheduling, return_exceptions=True)
        workers = [*self._workers.values(), *self._leaving]
        for worker in workers:
            worker.abandon()
        await asyncio.gather(*(worker.ended() for worker in workers))

    def worker(self, key: Key) -> PodWorker | None:
        """Give who runs a pod; None where it has no node, or is unknown."""
        return next((one for one in self._workers.values() if one.record.key == key), None)

    def _see(self, resource: Resource, change: Change) -> None:
        if resource is not PODS or self._stopping:
            return
        pod, uid = change.object, uid_of(change.object)
        worker = self._workers.get(uid)
        if change.type is ChangeType.DELETED:
            self._forget(uid)
        elif worker is None and part(pod, "spec").get("nodeName") in self._settings.nodes and not ended(pod):
            self._workers[uid] = PodWorker(self._node, pod, self._place(pod))
        elif worker is not None and "deletionTimestamp" in metadata(pod) and not worker.idle:
            worker.terminate(float(metadata(pod)["deletionGracePeriodSeconds"]))

    def _forget(self, uid: str) -> None:
        worker = self._workers.pop(uid, None)
        if worker is not None and not worker.idle:
            worker.abandon()
            self._leaving = {one for one in self._leaving if not one.idle} | {worker}
        self._node.volumes.remove(uid)

    def _place(self, pod: JsonObject) -> Placement:
        node = self._registry.store.find(NODES, Key("", str(part(pod, "spec")["nodeName"])))
        addresses = part(node or {}, "status").get("addresses") or [{"address": "127.0.0.1"}]
        number = next(self._numbers)
        address = f"10.244.{number // 250}.{number % 250 + 1}"
        return Placement(str(addresses[0]["address"]), address, self._registry.clock.stamp())

    def drain(self, node: str) -> list[Key]:
        """Cordon a node and evict its pods; gives those that it evicts."""
        self.cordon(node)
        running = [
            key_of(pod)
            for pod in self._registry.store.scan(PODS)
            if part(pod, "spec").get("nodeName") == node and not ended(pod)
        ]
        for key in running:
            self._registry.evict(key, {})
        return running

    def cordon(self, node: str, *, unschedulable: bool = True) -> None:
        """Let a node take new pods, or no longer.

        Raises:
            ApiError: 404.
        """
        patch = {"spec": {"unschedulable": unschedulable or None}}
        self._registry.patch(NODES, Key("", node), patch, "application/merge-patch+json")


def _node_object(name: str, place: int, pods: int) -> JsonObject:
    labels = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux"}
    spec = {"podCIDR": f"10.244.{place}.0/24"}
    return {"metadata": {"name": name, "labels": labels}, "spec": spec, "status": {"allocatable": {"pods": str(pods)}}}


def _node_status(place: int, pods: int, now: str) -> JsonObject:
    room = {"cpu": "8", "memory": "32Gi", "pods": str(pods)}
    ready = {
        "type": "Ready",
        "status": "True",
        "reason": "KubeletReady",
        "message": "kubelet is posting ready status",
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }
    return {
        "capacity": room,
        "allocatable": room,
        "conditions": [ready],
        "addresses": [{"type": "InternalIP", "address": f"127.0.1.{place + 1}"}],
        "nodeInfo": {"kubeletVersion": "v1.36.0+launchguard-lab", "operatingSystem": "linux"},
    }
