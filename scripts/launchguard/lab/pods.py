"""Worker pods, and which launch each of them belongs to."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final

import msgspec

from launchguard.lab.evidence import Record, task_name
from launchguard.lab.history import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from launchguard.lab.launches import Launch

SECOND: Final = 1_000_000_000
CARRIED_AS: Final = "launch_token"
"""Where the series puts the token: a key of the workload, and the pod's annotation."""
# The JWT's seconds are cut off.
_JWT_STEP: Final = SECOND
_MOMENTS: Final = {
    Kind.PROCESS_START: "started",
    Kind.PROCESS_SIGNAL: "deleting",
    Kind.PROCESS_EXIT: "exited",
}


@dataclass(frozen=True, slots=True)
class Pod:
    """A creation of a worker pod, and what became of it.

    Args:
        asked: when the creation was asked for.
        creator: who asked.
        code: of the answer, None when none was sent.
        issued: when its workload was made, on the history's clock, to the second.
        created: when it was in the API server's store; None for a refused creation.
        deleting: when somebody began to delete it, or to end its process.
        evicted: whether that was fate, such as a drain, and no client's wish.
        launch: the key of its launch; empty when it fits none.
    """

    name: str
    task: str
    ti: str
    try_number: int
    token: str
    issued: int | None
    asked: int
    creator: str = ""
    code: int | None = None
    created: int | None = None
    started: int | None = None
    exited: int | None = None
    exit_code: int | None = None
    failed: int | None = None
    succeeded: int | None = None
    deleting: int | None = None
    evicted: bool = False
    gone: int | None = None
    launch: str = ""

    @property
    def ended(self) -> int | None:
        """When it was over, if it ever was: failed, succeeded or gone."""
        times = [t for t in (self.failed, self.succeeded, self.gone) if t is not None]
        return min(times, default=None)


def workload_of(body: Record) -> dict[str, Any] | None:
    """Find the workload in a pod's arguments; None for a pod that runs something else."""
    for container in body.get("spec", {}).get("containers", []):
        for word in container.get("args") or []:
            if word.startswith("{") and '"ti"' in word:
                decoded: dict[str, Any] = msgspec.json.decode(word)
                return decoded
    return None


def issued_at(jwt: str) -> int | None:
    """Read when a JWT was issued, in seconds; None when it does not tell."""
    try:
        payload = jwt.split(".")[1]
        claims = msgspec.json.decode(base64.urlsafe_b64decode(payload + "=" * (-len(payload) % 4)))
        return int(claims["iat"])
    except (IndexError, KeyError, ValueError, binascii.Error, msgspec.DecodeError):
        return None


def pods_of(records: Sequence[Record], run_id: str, wall_offset: int) -> list[Pod]:
    """Give the creations of a run's worker pods, without their launches.

    Args:
        wall_offset: what the wall clock is ahead of the history's, in nanoseconds.
    """
    codes = {one["req"]: one.get("code") for one in records if one["kind"] == Kind.ANSWER}
    asked = (
        one for one in records if one["kind"] == Kind.REQUEST and (one["verb"], one["resource"]) == ("create", "pods")
    )
    found: dict[str, list[Pod]] = {}
    for one in asked:
        pod = _asked_for(one, codes.get(one["req"]), run_id, wall_offset)
        if pod is not None:
            found.setdefault(pod.name, []).append(pod)
    for one in records:
        _tell(found, one)
    return sorted((pod for pods in found.values() for pod in pods), key=lambda pod: pod.asked)


def _asked_for(one: Record, code: int | None, run_id: str, wall_offset: int) -> Pod | None:
    body = one.get("body") or {}
    workload = workload_of(body)
    if workload is None or workload["ti"]["run_id"] != run_id:
        return None
    ti, issued = workload["ti"], issued_at(workload.get("token", ""))
    return Pod(
        name=body["metadata"].get("name", ""),
        task=task_name(ti["task_id"], ti.get("map_index", -1)),
        ti=ti["id"],
        try_number=ti["try_number"],
        token=body["metadata"].get("annotations", {}).get(CARRIED_AS) or workload.get(CARRIED_AS) or "",
        issued=None if issued is None else issued * SECOND - wall_offset,
        asked=one["t"],
        creator=one["user"],
        code=code,
    )


def _tell(found: dict[str, list[Pod]], one: Record) -> None:
    """Add what a record says to the newest creation of its pod."""
    name = one.get("pod") or one.get("object", {}).get("name") or one.get("name", "")
    mine = [n for n, pod in enumerate(found.get(name, [])) if pod.asked <= one["t"]]
    if mine:
        found[name][mine[-1]] = _told(found[name][mine[-1]], one)


def _told(pod: Pod, one: Record) -> Pod:
    """Tell a pod what a record says of it: most things count the first time only."""
    field = _field_of(one)
    if one["kind"] == Kind.PROCESS_EXIT:
        pod = replace(pod, exit_code=one["exit_code"])
    if field in {"deleting", "gone"} and pod.deleting is None:
        # A client's deletion stands in the history as its request, before anything comes of it.
        pod = replace(pod, deleting=one["t"], evicted=one["kind"] != Kind.REQUEST)
    return replace(pod, **{field: one["t"]}) if field and getattr(pod, field) is None else pod


def _field_of(one: Record) -> str:
    """Name the field whose moment a record tells."""
    match one["kind"]:
        case Kind.OBJECT if one["type"] == "MODIFIED":
            return "deleting" if one["object"].get("deleting") else ""
        case Kind.OBJECT:
            return {"ADDED": "created", "DELETED": "gone"}[one["type"]]
        case Kind.REQUEST:
            return "deleting" if one["verb"] == "delete" else ""
        case Kind.PHASE:
            return {"Failed": "failed", "Succeeded": "succeeded"}.get(one["after"], "")
        case kind:
            return _MOMENTS.get(kind, "")


def assign(pods: Iterable[Pod], launches: Sequence[Launch]) -> list[Pod]:
    """Give each pod its launch."""
    return [replace(pod, launch=_launch_of(pod, launches)) for pod in pods]


def _launch_of(pod: Pod, launches: Sequence[Launch]) -> str:
    mine = [one for one in launches if (one.ti, one.try_number) == (pod.ti, pod.try_number)]
    named = [one for one in mine if pod.token and one.token == pod.token]
    if named:
        return named[-1].key
    made = pod.issued + _JWT_STEP if pod.issued is not None else pod.asked if len(mine) == 1 else 0
    before = [one for one in mine if one.begun <= made]
    return before[-1].key if before else ""
