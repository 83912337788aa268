"""A real cluster with the lab at home in it: relay, observer, faults and history in one event loop."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import msgspec

from launchguard import console
from launchguard.errors import LaunchguardError
from launchguard.lab.cluster.api import Api
from launchguard.lab.cluster.hardships import Hardships
from launchguard.lab.cluster.home import leave, make_config_map, settle
from launchguard.lab.cluster.observer import Observer
from launchguard.lab.cluster.relay import Relay
from launchguard.lab.cluster.route import find_worker_host
from launchguard.lab.cluster.workers import config_maps, worker_template
from launchguard.lab.faults import FaultEngine
from launchguard.lab.history import History, Kind
from launchguard.lab.inloop import InLoop, loop_thread
from launchguard.lab.kube.objects import phase_of
from launchguard.lab.plan import ApiDown, ApiUp, Command, Compact, Cordon, Drain, DropWatches, Evict

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator
    from pathlib import Path

    from launchguard.lab.airflow.environment import Site
    from launchguard.lab.cluster.choice import Place
    from launchguard.lab.cluster.home import Home
    from launchguard.lab.kube.objects import JsonObject


class RealCluster:
    """The lab's part of a cluster. Make and use it inside a running event loop; `opened` makes it.

    Args:
        worker_host: by which pods reach this machine.
    """

    def __init__(self, api: Api, home: Home, worker_host: str, *, seed: int, history: History) -> None:
        self.home = home
        self.worker_host = worker_host
        self.history = history
        self.faults = FaultEngine(seed, history)
        self.hardships = Hardships(api, home, self.faults, history)
        self.observer = Observer(api, home, history, self.hardships.see)
        self.relay = Relay(api, self.observer, self.hardships, namespace=home.namespace, history=history)

    async def execute(self, command: Command) -> None:
        """Carry out a command, so far as it is one for a real cluster.

        Raises:
            LaunchguardError: it is none, or the cluster refuses.
        """
        self.history.record(Kind.COMMAND, command=msgspec.to_builtins(command))
        match command:
            case ApiDown():
                await self.relay.close()
            case ApiUp():
                await self.relay.listen()
            case DropWatches(resource=resource, user=user):
                self.relay.drop(resource, user)
            case Compact():
                self.relay.forget(self.observer.version)
            case Cordon(unschedulable=unschedulable):
                await self.hardships.cordon(unschedulable=unschedulable)
            case Drain():
                await self.hardships.drain(self.observer.pods())
            case Evict(pod=pod):
                await self.hardships.evict(pod)
            case _:
                raise LaunchguardError(f"a real cluster knows no command {msgspec.to_builtins(command)['do']!r}")


@contextlib.asynccontextmanager
async def opened(folder: Path, place: Place, seed: int) -> AsyncIterator[RealCluster]:
    """Be at home in a cluster, and leave nothing behind.

    Args:
        folder: for the history.

    Raises:
        LaunchguardError: the cluster refuses something.
    """
    async with contextlib.AsyncExitStack() as stack:
        api = Api(place.socket)
        stack.push_async_callback(api.close)
        worker_host = place.worker_host or await find_worker_host(api, place.server)
        home = await settle(api, place.namespace)
        stack.push_async_callback(leave, api, home)
        history = stack.enter_context(History(folder / "history.jsonl", "cluster"))
        cluster = RealCluster(api, home, worker_host, seed=seed, history=history)
        for name, files in config_maps(home).items():
            await make_config_map(api, home, name, files)
        await cluster.observer.start()
        stack.push_async_callback(cluster.observer.stop)
        stack.push_async_callback(cluster.hardships.stop)
        await cluster.relay.listen()
        stack.push_async_callback(cluster.relay.close)
        yield cluster


@dataclass(frozen=True, slots=True)
class RunningCluster(InLoop):
    """A real cluster, seen from outside of its thread."""

    cluster: RealCluster
    image: str

    @property
    def url(self) -> str:
        return self.cluster.relay.url

    @property
    def faults(self) -> FaultEngine:
        return self.cluster.faults

    def execute(self, command: Command) -> None:
        self.wait(self.cluster.execute(command))

    def phases(self) -> list[str]:
        return self.call(lambda: [phase_of(pod) for pod in self.cluster.observer.pods()])

    def heal(self) -> None:
        self.execute(ApiUp())
        self.execute(Cordon(node="", unschedulable=False))

    def moved(self, site: Site) -> Site:
        """Give a site as it is with its workers in this cluster."""
        home, host = self.cluster.home, self.cluster.worker_host
        return replace(site, namespace=home.namespace, image=self.image, worker_host=host)

    def template(self, site: Site) -> JsonObject:
        """Give the template of the workers' pods."""
        return worker_template(site, self.cluster.home)


@contextlib.contextmanager
def joined(folder: Path, place: Place, seed: int) -> Iterator[RunningCluster]:
    """Be at home in a cluster beside the caller's code.

    Raises:
        LaunchguardError: the cluster refuses something.
    """
    with loop_thread("cluster") as inside:
        made = opened(folder, place, seed)
        with console.working("moving into the cluster"):
            cluster = inside.wait(made.__aenter__())
        try:
            yield RunningCluster(inside.loop, cluster, place.image)
        finally:
            inside.wait(made.__aexit__(None, None, None))
