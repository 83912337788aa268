"""A stand-in that plays the real cluster, and the lab at home in it through kubectl."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from kubernetes import client, config
from lab_cluster import PATIENCE, Cluster, cluster_in, fast, pod

from launchguard.lab.actions import Action
from launchguard.lab.cluster.choice import ClusterChoice, Place
from launchguard.lab.cluster.running import RunningCluster, joined
from launchguard.lab.faults import Match, Rule
from launchguard.lab.history import read_history
from launchguard.lab.kubeconfig import write_kubeconfig
from launchguard.lab.outcome import Side

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

Json = dict[str, Any]
NAMESPACE = "default"


@dataclass
class Joined:
    """Both ends: the cluster that is far away, and the lab's part of it."""

    far: Cluster
    near: RunningCluster
    folder: Path
    core: client.CoreV1Api
    """Through the relay, as scheduler-a."""

    def create(self, name: str = "one", script: str = "true", **changes: Any) -> Json:
        """Create a pod of the lab's through the relay."""
        body = pod(name, script, **changes)
        body["metadata"]["labels"] |= self.near.cluster.home.labels
        made: Json = self.core.api_client.sanitize_for_serialization(self.core.create_namespaced_pod(NAMESPACE, body))
        return made

    def arm(self, action: str, rule_id: str = "fault", match: Match = Match(), **fields: Any) -> None:  # noqa: B008
        rule = Rule(id=rule_id, action=Action(action), match=match, **fields)
        self.near.call(lambda: self.near.faults.arm(rule))

    def history(self, *kinds: str) -> list[Json]:
        found = read_history(self.folder / "history.jsonl")
        return [one for one in found if not kinds or one["kind"] in kinds]

    def bugs(self) -> list[str]:
        return [str(one["error"]) for one in self.history("bug")]

    def until(self, done: Callable[[], object]) -> None:
        until = time.monotonic() + PATIENCE
        while not done():
            assert time.monotonic() < until, (list(self.near.phases()), self.bugs())
            time.sleep(0.01)

    def until_phases(self, *phases: str) -> None:
        self.until(lambda: sorted(self.near.phases()) == sorted(phases))


def client_of(kubeconfig: Path) -> client.CoreV1Api:
    return client.CoreV1Api(config.new_client_from_config(str(kubeconfig)))


@contextlib.contextmanager
def place_of(kubeconfig: Path, namespace: str = NAMESPACE) -> Iterator[Place]:
    choice = ClusterChoice(kubeconfig, namespace=namespace, images={Side.PATCHED: "lab/airflow:1"})
    with choice.connected() as places:
        yield places[Side.PATCHED]


@contextlib.contextmanager
def joined_in(folder: Path, **changes: Any) -> Iterator[Joined]:
    """Run a far cluster, whose settings `changes` go into, and the lab in it."""
    with (
        cluster_in(folder / "far", fast(**changes)) as far,
        place_of(far.kubeconfig) as place,
        joined(folder / "near", place, seed=0) as near,
    ):
        core = client_of(write_kubeconfig(folder / "kubeconfig", near.url, user="scheduler-a"))
        with core.api_client:
            yield Joined(far, near, folder / "near", core)
