"""The states of a pod's containers, and the pod's phase that follows from them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Sequence

    from launchguard.lab.kube.objects import JsonObject


@dataclass(frozen=True, slots=True)
class Waiting:
    reason: str
    message: str = ""

    def shown(self) -> JsonObject:
        return {"waiting": {"reason": self.reason} | ({"message": self.message} if self.message else {})}


@dataclass(frozen=True, slots=True)
class Running:
    started_at: str

    def shown(self) -> JsonObject:
        return {"running": {"startedAt": self.started_at}}


@dataclass(frozen=True, slots=True)
class Terminated:
    exit_code: int
    reason: str
    started_at: str
    finished_at: str
    message: str = ""
    container_id: str = ""

    def shown(self) -> JsonObject:
        told: JsonObject = {"exitCode": self.exit_code, "reason": self.reason}
        if self.message:
            told["message"] = self.message
        told |= {"startedAt": self.started_at, "finishedAt": self.finished_at}
        return {"terminated": told | ({"containerID": self.container_id} if self.container_id else {})}


State: TypeAlias = Waiting | Running | Terminated


@dataclass(slots=True)
class ContainerRecord:
    """One container of a pod: what is known of its current and its last run."""

    spec: JsonObject
    state: State
    init: bool = False
    last: Terminated | None = None
    restarts: int = 0
    container_id: str = ""
    cause: str = field(default="")
    """Why it was killed, where the exit status alone does not say: OOMKilled."""

    @property
    def name(self) -> str:
        return str(self.spec["name"])

    @property
    def succeeded(self) -> bool:
        return isinstance(self.state, Terminated) and self.state.exit_code == 0

    def shown(self) -> JsonObject:
        """Write its entry in the pod's status."""
        running = isinstance(self.state, Running)
        image = str(self.spec["image"])
        entry: JsonObject = {
            "name": self.name,
            "state": self.state.shown(),
            "lastState": self.last.shown() if self.last else {},
            "ready": self.succeeded if self.init else running,
            "restartCount": self.restarts,
            "image": image,
            "imageID": f"{image}@lab" if self.container_id else "",
        }
        if self.container_id:
            entry["containerID"] = self.container_id
        return entry | {"started": running}


def phase(
    policy: str, init: Sequence[ContainerRecord], main: Sequence[ContainerRecord], *, terminal: bool = False
) -> str:
    """Compute a pod's phase by the kubelet's rules.

    Args:
        policy: the pod's restart policy.
        terminal: the pod is being deleted and all its processes are gone: it ends in a terminal phase.
    """
    failed = [one for one in init if isinstance(one.state, Terminated) and not one.succeeded]
    if failed and policy == "Never":
        return "Failed"
    never_ran = any(isinstance(one.state, Waiting) and one.last is None for one in main)
    if never_ran or not all(one.succeeded for one in init):
        return "Failed" if terminal else "Pending"
    if any(isinstance(one.state, Running) for one in main):
        return "Running"
    return _phase_when_stopped(policy, all(one.succeeded for one in main), terminal=terminal)


def _phase_when_stopped(policy: str, all_succeeded: bool, *, terminal: bool) -> str:
    if not terminal and (policy == "Always" or (policy == "OnFailure" and not all_succeeded)):
        return "Running"
    return "Succeeded" if all_succeeded else "Failed"
