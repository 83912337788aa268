"""The status of a pod as a kubelet writes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from launchguard.lab.kube.objects import JsonObject, part
from launchguard.lab.kubelet.containers import ContainerRecord, Running, phase

if TYPE_CHECKING:
    from collections.abc import Sequence

_TERMINAL: Final = {"Succeeded": "PodCompleted", "Failed": "PodFailed"}


@dataclass(frozen=True, slots=True)
class Placement:
    """What a pod gets from its node."""

    host_ip: str
    pod_ip: str
    started_at: str


def pod_status(
    pod: JsonObject,
    containers: Sequence[ContainerRecord],
    placement: Placement,
    now: str,
    *,
    terminal: bool = False,
    failure: tuple[str, str] | None = None,
) -> JsonObject:
    """Write a pod's whole status anew; conditions that did not change keep their times.

    Args:
        now: a time stamp.
        terminal: the pod is being deleted and its processes are gone.
        failure: reason and message, where the kubelet itself ended the pod (Evicted, DeadlineExceeded).
    """
    init = [one for one in containers if one.init]
    main = [one for one in containers if not one.init]
    policy = str(part(pod, "spec").get("restartPolicy", "Always"))
    word = "Failed" if failure else phase(policy, init, main, terminal=terminal)
    old = part(pod, "status")
    status: JsonObject = {"qosClass": old.get("qosClass", "BestEffort")}
    status |= {"phase": word, "hostIP": placement.host_ip, "hostIPs": [{"ip": placement.host_ip}]}
    if any(one.container_id for one in containers):
        status |= {"podIP": placement.pod_ip, "podIPs": [{"ip": placement.pod_ip}]}
    status["startTime"] = placement.started_at
    if failure:
        status |= {"reason": failure[0], "message": failure[1]}
    if init:
        status["initContainerStatuses"] = [one.shown() for one in init]
    status["containerStatuses"] = [one.shown() for one in main]
    status["conditions"] = _merged(old.get("conditions") or [], _conditions(init, main, word), now)
    return status


def rejected_status(pod: JsonObject, reason: str, message: str, started_at: str) -> JsonObject:
    """Write the status of a pod that its kubelet turned away: no container was even looked at."""
    kept = {name: value for name, value in part(pod, "status").items() if name in {"qosClass", "conditions"}}
    return kept | {"phase": "Failed", "reason": reason, "message": message, "startTime": started_at}


def _conditions(init: Sequence[ContainerRecord], main: Sequence[ContainerRecord], word: str) -> list[JsonObject]:
    sandbox = any(isinstance(one.state, Running) for one in (*init, *main))
    unready = [one.name for one in main if not isinstance(one.state, Running)]
    ready = _readiness(unready, word)
    return [
        {"type": "PodReadyToStartContainers", "status": str(sandbox)},
        {"type": "Initialized"} | _initialization(init, word),
        {"type": "Ready"} | ready,
        {"type": "ContainersReady"} | ready,
    ]


def _readiness(unready: list[str], word: str) -> JsonObject:
    if word in _TERMINAL:
        return {"status": "False", "reason": _TERMINAL[word]}
    if unready:
        message = f"containers with unready status: [{' '.join(unready)}]"
        return {"status": "False", "reason": "ContainersNotReady", "message": message}
    return {"status": "True"}


def _initialization(init: Sequence[ContainerRecord], word: str) -> JsonObject:
    waiting = [one.name for one in init if not one.succeeded]
    if waiting:
        message = f"containers with incomplete status: [{' '.join(waiting)}]"
        return {"status": "False", "reason": "ContainersNotInitialized", "message": message}
    return {"status": "True"} | ({"reason": "PodCompleted"} if word == "Succeeded" else {})


def _merged(old: list[JsonObject], new: list[JsonObject], now: str) -> list[JsonObject]:
    """Keep conditions of others, and the time of those whose status stands."""
    had = {one["type"]: one for one in old}
    merged = {kind: one for kind, one in had.items() if kind not in {one["type"] for one in new}}
    for one in new:
        before = had.get(one["type"])
        same = before is not None and before["status"] == one["status"]
        since = before["lastTransitionTime"] if before is not None and same else now
        merged[one["type"]] = {**one, "lastProbeTime": None, "lastTransitionTime": since}
    return list(merged.values())
