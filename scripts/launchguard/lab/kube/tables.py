"""What `kubectl get` prints: the server makes the cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from launchguard.lab.kube.objects import JsonObject, metadata, parse_stamp, part

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    from launchguard.lab.kube.resources import Resource

_Column = tuple[str, int]
_WIDE: Final = 1
"""The priority of a column that only `-o wide` shows."""

_COLUMNS: Final[dict[str, tuple[_Column, ...]]] = {
    "pods": (
        ("Name", 0),
        ("Ready", 0),
        ("Status", 0),
        ("Restarts", 0),
        ("Age", 0),
        ("IP", _WIDE),
        ("Node", _WIDE),
        ("Nominated Node", _WIDE),
        ("Readiness Gates", _WIDE),
    ),
    "events": (("Last Seen", 0), ("Type", 0), ("Reason", 0), ("Object", 0), ("Message", 0), ("Name", _WIDE)),
    "nodes": (("Name", 0), ("Status", 0), ("Roles", 0), ("Age", 0), ("Version", 0)),
    "namespaces": (("Name", 0), ("Status", 0), ("Age", 0)),
    "configmaps": (("Name", 0), ("Data", 0), ("Age", 0)),
}
_OTHER_COLUMNS: Final = (("Name", 0), ("Age", 0))
_INTEGERS: Final = frozenset({"Data"})


def columns(resource: Resource) -> list[JsonObject]:
    return [
        {
            "name": name,
            "type": "integer" if name in _INTEGERS else "string",
            "format": "name" if name == "Name" else "",
            "description": "",
            "priority": priority,
        }
        for name, priority in _COLUMNS.get(resource.plural, _OTHER_COLUMNS)
    ]


def table_row(resource: Resource, obj: JsonObject, now: datetime) -> list[Any]:
    return _ROWS.get(resource.plural, _other_row)(obj, now)


def _age(stamp: str | None, now: datetime) -> str:
    return human_duration((now - parse_stamp(stamp)).total_seconds()) if stamp else "<unknown>"


def human_duration(seconds: float) -> str:
    """Write a duration as kubectl does, to two units at most.

    >>> [human_duration(n) for n in (5, 125, 700, 3700, 200000)]
    ['5s', '2m5s', '11m', '61m', '2d7h']
    """
    left = max(int(seconds), 0)
    minutes, hours, days = left // 60, left // 3600, left // 86400
    if left < 120:  # noqa: PLR2004  kubectl's own steps, here and below
        return f"{left}s"
    if minutes < 10:  # noqa: PLR2004
        return f"{minutes}m{left % 60}s" if left % 60 else f"{minutes}m"
    if hours < 3:  # noqa: PLR2004
        return f"{minutes}m"
    if hours < 48:  # noqa: PLR2004
        return f"{hours}h{minutes % 60}m" if hours < 8 and minutes % 60 else f"{hours}h"  # noqa: PLR2004
    return f"{days}d{hours % 24}h" if days < 8 and hours % 24 else f"{days}d"  # noqa: PLR2004


def _other_row(obj: JsonObject, now: datetime) -> list[Any]:
    return [metadata(obj)["name"], _age(metadata(obj).get("creationTimestamp"), now)]


def _namespace_row(obj: JsonObject, now: datetime) -> list[Any]:
    name, age = _other_row(obj, now)
    return [name, part(obj, "status").get("phase", ""), age]


def _configmap_row(obj: JsonObject, now: datetime) -> list[Any]:
    name, age = _other_row(obj, now)
    return [name, len(part(obj, "data")) + len(part(obj, "binaryData")), age]


def _node_row(obj: JsonObject, now: datetime) -> list[Any]:
    name, age = _other_row(obj, now)
    ready = _condition(obj, "Ready") == "True"
    words = ["Ready" if ready else "NotReady"]
    if part(obj, "spec").get("unschedulable"):
        words.append("SchedulingDisabled")
    version = part(part(obj, "status"), "nodeInfo").get("kubeletVersion", "")
    return [name, ",".join(words), "<none>", age, version]


def _event_row(obj: JsonObject, now: datetime) -> list[Any]:
    involved = part(obj, "involvedObject")
    seen = obj.get("lastTimestamp") or obj.get("eventTime") or metadata(obj).get("creationTimestamp")
    about = f"{str(involved.get('kind', '')).lower()}/{involved.get('name', '')}"
    message = str(obj.get("message", "")).strip()
    return [_age(seen, now), obj.get("type", ""), obj.get("reason", ""), about, message, metadata(obj)["name"]]


def _pod_row(obj: JsonObject, now: datetime) -> list[Any]:
    name, age = _other_row(obj, now)
    spec, status = part(obj, "spec"), part(obj, "status")
    statuses = status.get("containerStatuses") or []
    ready = sum(bool(one.get("ready")) and "running" in one["state"] for one in statuses)
    restarts = sum(int(one.get("restartCount", 0)) for one in statuses)
    wide = [status.get("podIP") or "<none>", spec.get("nodeName") or "<none>", "<none>", "<none>"]
    return [name, f"{ready}/{len(spec.get('containers') or [])}", pod_word(obj), str(restarts), age, *wide]


def pod_word(pod: JsonObject) -> str:
    """Give the one word of the STATUS column."""
    status = part(pod, "status")
    word = status.get("reason") or status.get("phase", "")
    waiting = [
        found
        for place, one in enumerate(status.get("initContainerStatuses") or [])
        if (found := _init_word(one, place, len(status["initContainerStatuses"])))
    ]
    if waiting:
        word = waiting[0]
    else:
        words = [_container_word(one) for one in status.get("containerStatuses") or []]
        word = next((found for found in words if found), word)
    return "Terminating" if "deletionTimestamp" in metadata(pod) else str(word)


def _init_word(status: JsonObject, place: int, total: int) -> str:
    terminated, waiting = status["state"].get("terminated"), status["state"].get("waiting")
    if terminated:
        return f"Init:{_ended_word(terminated)}" if terminated.get("exitCode") else ""
    reason = (waiting or {}).get("reason", "PodInitializing")
    return f"Init:{place}/{total}" if reason == "PodInitializing" else f"Init:{reason}"


def _container_word(status: JsonObject) -> str:
    state = status["state"]
    if state.get("waiting"):
        return str(state["waiting"].get("reason", ""))
    return _ended_word(state["terminated"]) if state.get("terminated") else ""


def _ended_word(terminated: JsonObject) -> str:
    return str(terminated.get("reason") or f"ExitCode:{terminated.get('exitCode')}")


def _condition(obj: JsonObject, kind: str) -> str:
    conditions = part(obj, "status").get("conditions") or []
    return next((str(one["status"]) for one in conditions if one["type"] == kind), "")


_ROWS: Final[dict[str, Callable[[JsonObject, datetime], list[Any]]]] = {
    "configmaps": _configmap_row,
    "events": _event_row,
    "namespaces": _namespace_row,
    "nodes": _node_row,
    "pods": _pod_row,
}
