"""The stand-in for a cluster: API server, kubelet, faults and history in one event loop."""

from __future__ import annotations

import asyncio
import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from launchguard.errors import LaunchguardError
from launchguard.lab.faults import FaultEngine
from launchguard.lab.history import History, Kind
from launchguard.lab.inloop import InLoop, loop_thread
from launchguard.lab.kube.objects import Identities, Key, WallClock, identity, phase_of
from launchguard.lab.kube.recorder import EventRecorder
from launchguard.lab.kube.registry import Registry
from launchguard.lab.kube.resources import EVENTS, NAMESPACES, PODS, Resource
from launchguard.lab.kube.server import ApiServer
from launchguard.lab.kube.store import Store
from launchguard.lab.kube.watching import Watches, WatchSettings
from launchguard.lab.kubelet.images import Images, LocalImage, any_image
from launchguard.lab.kubelet.kubelet import Kubelet
from launchguard.lab.kubelet.logfiles import LogShelf
from launchguard.lab.kubelet.podrecord import Node
from launchguard.lab.kubelet.settings import KubeletSettings
from launchguard.lab.kubelet.volumes import Volumes
from launchguard.lab.plan import (
    ApiDown,
    ApiUp,
    Command,
    Compact,
    Cordon,
    Drain,
    DropWatches,
    Evict,
    KillForMemory,
    NodePressure,
    Plan,
    StepClock,
    Timed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from launchguard.lab.kube.changelog import Change
    from launchguard.lab.kubelet.worker import PodWorker


class StandInSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What can be set about a stand-in; durations are in seconds.

    Args:
        port: of the API; 0 takes a free one.
        window: how many changes of a resource watches can go back.
        images: shell patterns of image names; none takes every image for this machine's environment.
        seed: of uids, generated names and the faults' draws.
    """

    port: int = 0
    namespaces: tuple[str, ...] = ("default", "kube-system")
    window: int = 5000
    bookmark_every: float = 60.0
    watch_timeout: float = 1800.0
    images: dict[str, LocalImage] = {}
    kubelet: KubeletSettings = KubeletSettings()
    seed: int = 0


class StandIn:
    """A cluster of one API server and its kubelets. Make and use it inside a running event loop.

    Args:
        folder: for the history, logs and volumes.
    """

    def __init__(self, folder: Path, settings: StandInSettings | None = None) -> None:
        self.settings = settings = settings or StandInSettings()
        self.history = History(folder / "history.jsonl", "cluster")
        self.faults = FaultEngine(settings.seed, self.history)
        self.clock = WallClock()
        self.registry = Registry(Store(settings.window), self.clock, Identities(settings.seed))
        self.store = self.registry.store
        self.store.on_commit(self._record)
        self.logs = LogShelf(folder / "logs")
        watching = WatchSettings(settings.bookmark_every, settings.watch_timeout)
        self._watches = Watches(self.registry, self.faults, self.history, watching)
        self.api = ApiServer(self.registry, self._watches, self.faults, self.history, self.logs)
        self.kubelet = Kubelet(self._node(folder))
        self._plans: set[asyncio.Task[None]] = set()

    def _node(self, folder: Path) -> Node:
        images = Images(self.settings.images) if self.settings.images else any_image()
        volumes = Volumes(folder / "volumes", self.store.find)
        events = EventRecorder(self.registry, "kubelet")
        return Node(self.registry, self.faults, self.history, images, self.logs, volumes, events, self.settings.kubelet)

    async def start(self) -> None:
        for name in self.settings.namespaces:
            self.registry.create(NAMESPACES, "", {"metadata": {"name": name}})
        await self.kubelet.start()
        await self.api.listen(self.settings.port)

    async def stop(self) -> None:
        """End everything; no process of a pod is left."""
        for task in self._plans:
            task.cancel()
        await self.api.close()
        await self.kubelet.stop()
        self.history.close()

    def begin(self, plan: Plan) -> None:
        """Arm a plan's rules now, and carry out its commands when their time comes."""
        for rule in plan.rules:
            self.faults.arm(rule)
        for timed in plan.commands:
            task = asyncio.create_task(self._later(timed))
            self._plans.add(task)
            task.add_done_callback(self._plans.discard)

    async def _later(self, timed: Timed) -> None:
        await asyncio.sleep(timed.at)
        try:
            await self.execute(timed.command)
        except Exception as error:  # noqa: BLE001  a plan may name a pod that is gone: recorded, like all that happens
            self.history.record(Kind.COMMAND, command=msgspec.to_builtins(timed.command), failed=str(error))

    async def execute(self, command: Command) -> None:
        """Carry out a command.

        Raises:
            ApiError: it names something that is not there.
            LaunchguardError: it names a pod that does not run.
        """
        self.history.record(Kind.COMMAND, command=msgspec.to_builtins(command))
        match command:
            case ApiDown():
                await self.api.close()
            case ApiUp():
                await self.api.listen()
            case _:
                self._execute_now(command)

    def _execute_now(self, command: Command) -> None:
        match command:
            case DropWatches(resource=resource, user=user):
                self._watches.drop(resource, user)
            case Compact():
                self.store.compact()
            case Cordon(node=node, unschedulable=unschedulable):
                self.kubelet.cordon(node, unschedulable=unschedulable)
            case Drain(node=node):
                self.kubelet.drain(node)
            case Evict(pod=pod, namespace=namespace):
                self.registry.evict(Key(namespace, pod), {})
            case NodePressure(pod=pod, namespace=namespace):
                self._worker(namespace, pod).fail("Evicted", "The node was low on resource: memory.")
            case KillForMemory(pod=pod, namespace=namespace):
                self._worker(namespace, pod).kill_for_memory()
            case StepClock(seconds=seconds):
                self.clock.step(seconds)

    def _worker(self, namespace: str, pod: str) -> PodWorker:
        worker = self.kubelet.worker(Key(namespace, pod))
        if worker is None:
            raise LaunchguardError(f"no node runs a pod {namespace}/{pod}")
        return worker

    def _record(self, resource: Resource, change: Change) -> None:
        if resource is EVENTS:
            return
        about = identity(change.object)
        self.history.record(Kind.OBJECT, type=change.type, resource=resource.plural, object=about)
        if resource is not PODS:
            return
        before, after = phase_of(change.previous or {}), phase_of(change.object)
        if before != after:
            self.history.record(Kind.PHASE, object=about, before=before, after=after)


@dataclass(frozen=True, slots=True)
class RunningStandIn(InLoop):
    """A stand-in that runs in a thread of its own."""

    standin: StandIn

    @property
    def url(self) -> str:
        return self.standin.api.url

    @property
    def faults(self) -> FaultEngine:
        return self.standin.faults

    def execute(self, command: Command) -> None:
        self.wait(self.standin.execute(command))

    def phases(self) -> list[str]:
        return self.call(lambda: [phase_of(pod) for pod in self.standin.store.scan(PODS)])

    def heal(self) -> None:
        self.execute(ApiUp())
        for node in self.standin.settings.kubelet.nodes:
            self.execute(Cordon(node=node, unschedulable=False))


@contextlib.contextmanager
def running(folder: Path, settings: StandInSettings | None = None) -> Iterator[RunningStandIn]:
    """Run a stand-in beside the caller's code."""

    async def begin() -> StandIn:
        standin = StandIn(folder, settings)
        await standin.start()
        return standin

    with loop_thread("stand-in") as inside:
        standin = inside.wait(begin())
        try:
            yield RunningStandIn(inside.loop, standin)
        finally:
            inside.wait(standin.stop())
