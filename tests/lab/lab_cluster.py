"""A running stand-in with the real client on it, and what tests need to look at it."""

from __future__ import annotations

import contextlib
import threading
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from kubernetes import client, config, watch

from launchguard.lab.actions import Action
from launchguard.lab.faults import Match, Rule
from launchguard.lab.history import read_history
from launchguard.lab.kubeconfig import write_kubeconfig
from launchguard.lab.kubelet.settings import KubeletSettings
from launchguard.lab.standin import RunningStandIn, StandInSettings, running

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

PATIENCE = 20
"""Seconds after which a test gives up: far more than anything takes."""

Json = dict[str, Any]


def pod(name: str = "one", script: str = "true", **changes: Any) -> Json:
    """Give a pod that runs a shell script; `changes` go into its spec."""
    container = {"name": "base", "image": "lab/any:1", "command": ["sh", "-c", script]}
    spec = {"restartPolicy": "Never", "terminationGracePeriodSeconds": 5, "containers": [container], **changes}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": name}}, "spec": spec}


@dataclass
class Cluster:
    """A stand-in and the real client on it."""

    running: RunningStandIn
    folder: Path
    core: client.CoreV1Api

    @property
    def kubeconfig(self) -> Path:
        return self.folder / "kubeconfig"

    @property
    def version(self) -> str:
        return str(self.running.call(lambda: self.running.standin.store.version))

    def history(self, *kinds: str) -> list[Json]:
        found = read_history(self.folder / "history.jsonl")
        return [entry for entry in found if not kinds or entry["kind"] in kinds]

    def arm(self, action: str, rule_id: str = "fault", match: Match = Match(), **fields: Any) -> None:  # noqa: B008
        rule = Rule(id=rule_id, action=Action(action), match=match, **fields)
        self.running.call(lambda: self.running.standin.faults.arm(rule))

    def fired(self, rule_id: str = "fault") -> int:
        tallies = self.running.call(self.running.standin.faults.tallies)
        return next(tally.fired for tally in tallies if tally.rule.id == rule_id)

    def create(self, body: Json) -> client.V1Pod:
        return self.core.create_namespaced_pod("default", body)

    def until(self, name: str, done: Callable[[Json], bool]) -> list[Json]:
        """Watch a pod until `done` says so of an event; gives all events seen, as plain data."""
        return self._until(name, "0", done)

    def _until(self, name: str, version: str, done: Callable[[Json], bool]) -> list[Json]:
        seen = []
        for event in watch.Watch().stream(
            self.core.list_namespaced_pod,
            "default",
            field_selector=f"metadata.name={name}",
            timeout_seconds=PATIENCE,
            resource_version=version,
        ):
            seen.append({"type": event["type"], "object": event["raw_object"]})
            if done(seen[-1]):
                return seen
        pytest.fail(f"pod {name} never got there; seen: {[brief(one) for one in seen]}")

    def until_phase(self, name: str, *phases: str) -> Json:
        return self.until(name, lambda event: event["object"]["status"]["phase"] in phases)[-1]["object"]

    def until_waiting(self, name: str, reason: str) -> Json:
        return self.until(name, lambda event: waiting_reason(event["object"]) == reason)[-1]["object"]

    def delete(self, name: str, **options: Any) -> list[Json]:
        """Delete a pod, and give all events from then on, to its removal."""
        version = self.version
        self.core.delete_namespaced_pod(name, "default", **options)
        return self._until(name, version, lambda event: event["type"] == "DELETED")


def waiting_reason(found: Json) -> str:
    statuses = found["status"].get("containerStatuses") or [{}]
    return statuses[0].get("state", {}).get("waiting", {}).get("reason", "")


def terminated(found: Json) -> Json:
    return found["status"]["containerStatuses"][0]["state"]["terminated"]


def brief(event: Json) -> str:
    return f"{event['type']} {event['object']['status'].get('phase')}"


def fast(**changes: Any) -> StandInSettings:
    """Give settings that wait for nothing longer than it takes."""
    kubelet = KubeletSettings(pull_retry=0.02, restart_backoff=0.01, config_retry=0.01)
    return StandInSettings(**{"kubelet": kubelet, **changes})


@contextlib.contextmanager
def cluster_in(folder: Path, settings: StandInSettings) -> Iterator[Cluster]:
    with running(folder, settings) as standin:
        write_kubeconfig(folder / "kubeconfig", standin.url)
        with config.new_client_from_config(str(folder / "kubeconfig")) as api:
            yield Cluster(standin, folder, client.CoreV1Api(api))
    assert not [entry for entry in read_history(folder / "history.jsonl") if entry["kind"] == "bug"]


class Watching:
    """A watch that runs beside the test, and what it has seen."""

    def __init__(self, core: client.CoreV1Api, **query: Any) -> None:
        self.events: list[Json] = []
        self.error: BaseException | None = None
        self._changed = threading.Condition()
        self._watch = watch.Watch()
        self._query = {"timeout_seconds": PATIENCE, "resource_version": "0", **query}
        self._thread = threading.Thread(target=self._run, args=(core,), daemon=True)
        self._thread.start()

    def _run(self, core: client.CoreV1Api) -> None:
        try:
            for event in self._watch.stream(core.list_namespaced_pod, "default", **self._query):
                with self._changed:
                    self.events.append({"type": event["type"], "object": event["raw_object"]})
                    self._changed.notify_all()
        except Exception as error:  # noqa: BLE001  the test looks at it
            self.error = error
        with self._changed:
            self._changed.notify_all()

    def wait_for(self, done: Callable[[list[Json]], bool]) -> list[Json]:
        with self._changed:
            assert self._changed.wait_for(lambda: done(self.events), PATIENCE), [brief(one) for one in self.events]
            return list(self.events)

    def wait_end(self) -> None:
        self._thread.join(PATIENCE)
        assert not self._thread.is_alive()
