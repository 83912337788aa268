"""What the API server itself knows about pods: defaults, graceful deletion, eviction, binding, quota."""

from __future__ import annotations

import copy
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from launchguard.lab.kube.objects import JsonObject, metadata, parse_stamp, part, phase_of, stamp
from launchguard.lab.kube.resources import PODS, QUOTAS
from launchguard.lab.kube.status import exceeded_quota

if TYPE_CHECKING:
    from datetime import datetime

    from launchguard.lab.kube.store import Store

TERMINAL_PHASES: Final = frozenset({"Succeeded", "Failed"})
_DEFAULT_GRACE: Final = 30

_SPEC_DEFAULTS: Final[JsonObject] = {
    "restartPolicy": "Always",
    "terminationGracePeriodSeconds": _DEFAULT_GRACE,
    "dnsPolicy": "ClusterFirst",
    "serviceAccountName": "default",
    "serviceAccount": "default",
    "securityContext": {},
    "schedulerName": "default-scheduler",
    "priority": 0,
    "enableServiceLinks": True,
    "preemptionPolicy": "PreemptLowerPriority",
}
_CONTAINER_DEFAULTS: Final[JsonObject] = {
    "resources": {},
    "terminationMessagePath": "/dev/termination-log",
    "terminationMessagePolicy": "File",
}


def ended(pod: JsonObject) -> bool:
    return phase_of(pod) in TERMINAL_PHASES


def with_defaults(pod: JsonObject) -> JsonObject:
    """Give a new pod as the server stores it: defaults filled in, the client's status dropped."""
    spec = _SPEC_DEFAULTS | part(pod, "spec")
    if spec.get("serviceAccountName"):
        spec["serviceAccount"] = spec["serviceAccountName"]
    for kind in ("initContainers", "containers"):
        if kind in spec:
            spec[kind] = [_container_with_defaults(container) for container in spec[kind] or []]
    return {**pod, "spec": spec, "status": {"phase": "Pending", "qosClass": _quality(spec)}}


def _container_with_defaults(container: JsonObject) -> JsonObject:
    image = str(container.get("image", ""))
    tag = image.rpartition("/")[2].partition(":")[2]
    policy = "IfNotPresent" if tag and tag != "latest" else "Always"
    return {**_CONTAINER_DEFAULTS, "imagePullPolicy": policy, **container}


def _quality(spec: JsonObject) -> str:
    resources = [container.get("resources") or {} for container in spec.get("containers") or []]
    if not any(need.get("requests") or need.get("limits") for need in resources):
        return "BestEffort"
    sure = all(
        {"cpu", "memory"} <= set(need.get("limits") or {})
        and (need.get("requests") or need["limits"]) == need["limits"]
        for need in resources
    )
    return "Guaranteed" if sure else "Burstable"


def grace_for(pod: JsonObject, asked: int | None) -> int:
    """Tell how many seconds a deletion leaves the pod: none where no node has it, or where it has ended."""
    if ended(pod) or not part(pod, "spec").get("nodeName"):
        return 0
    period = part(pod, "spec").get("terminationGracePeriodSeconds", _DEFAULT_GRACE) if asked is None else asked
    # A negative period means "at once" to the server: one second.
    return int(period) if period >= 0 else 1


def terminating(pod: JsonObject, grace: int, now: datetime) -> JsonObject:
    """Give the pod marked for deletion; a later deletion can only shorten what an earlier one left."""
    meta = metadata(pod)
    if "deletionTimestamp" in meta:
        left = int(meta.get("deletionGracePeriodSeconds", 0))
        if grace >= left:
            return pod
        now = parse_stamp(meta["deletionTimestamp"]) - timedelta(seconds=left)
    marked = copy.deepcopy(pod)
    marked["metadata"]["deletionTimestamp"] = stamp(now + timedelta(seconds=grace))
    marked["metadata"]["deletionGracePeriodSeconds"] = grace
    return marked


def with_condition(pod: JsonObject, condition: JsonObject) -> JsonObject:
    """Give the pod with a condition added, or put in the place of the one of its type."""
    changed = copy.deepcopy(pod)
    status = changed.setdefault("status", {})
    others = [had for had in status.get("conditions") or [] if had["type"] != condition["type"]]
    status["conditions"] = [*others, condition]
    return changed


def eviction_condition(now: datetime) -> JsonObject:
    """Give the condition that the eviction API leaves on a pod."""
    return {
        "type": "DisruptionTarget",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": stamp(now),
        "reason": "EvictionByEvictionAPI",
        "message": "Eviction API: evicting",
    }


def bound(pod: JsonObject, node: str, now: datetime) -> JsonObject:
    """Give the pod with its node set, as a Binding does."""
    scheduled = {
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": None,
        "lastTransitionTime": stamp(now),
    }
    changed = with_condition(pod, scheduled)
    changed["spec"]["nodeName"] = node
    return changed


def check_quota(store: Store, pod: JsonObject) -> None:
    """Refuse a pod beyond what the namespace's ResourceQuota objects allow; only the number of pods counts.

    Raises:
        ApiError: 403.
    """
    meta = metadata(pod)
    for quota in store.scan(QUOTAS, meta["namespace"]):
        hard = part(part(quota, "spec"), "hard")
        limit = hard.get("pods", hard.get("count/pods"))
        used = sum(not ended(other) for other in store.scan(PODS, meta["namespace"]))
        if limit is not None and used + 1 > int(limit):
            raise exceeded_quota(PODS, meta["name"], metadata(quota)["name"], str(used), str(limit))
