"""Writes `Event` objects about pods, as the scheduler and the kubelet do."""

from __future__ import annotations

from itertools import count
from typing import TYPE_CHECKING

from launchguard.lab.kube.objects import JsonObject, key_of, metadata, uid_of
from launchguard.lab.kube.resources import EVENTS

if TYPE_CHECKING:
    from launchguard.lab.kube.registry import Registry


class EventRecorder:
    """Tells what happens to pods.

    Args:
        component: who tells it: `kubelet`, `default-scheduler`.
    """

    def __init__(self, registry: Registry, component: str) -> None:
        self._registry = registry
        self._component = component
        self._numbers = count(1)

    def normal(self, pod: JsonObject, reason: str, message: str, field: str = "") -> None:
        self._write(pod, "Normal", reason, message, field)

    def warning(self, pod: JsonObject, reason: str, message: str, field: str = "") -> None:
        self._write(pod, "Warning", reason, message, field)

    def _write(self, pod: JsonObject, kind: str, reason: str, message: str, field: str) -> None:
        key, now = key_of(pod), self._registry.clock.stamp()
        about = {
            "kind": "Pod",
            "apiVersion": "v1",
            "namespace": key.namespace,
            "name": key.name,
            "uid": uid_of(pod),
            "resourceVersion": metadata(pod)["resourceVersion"],
        }
        source = {"component": self._component}
        if node := pod["spec"].get("nodeName"):
            source["host"] = node
        event = {
            "metadata": {"name": f"{key.name}.{self._component}.{next(self._numbers)}"},
            "involvedObject": about | ({"fieldPath": field} if field else {}),
            "reason": reason,
            "message": message,
            "source": source,
            "firstTimestamp": now,
            "lastTimestamp": now,
            "count": 1,
            "type": kind,
            "eventTime": None,
            "reportingComponent": self._component,
            "reportingInstance": source.get("host", ""),
        }
        self._registry.create(EVENTS, key.namespace, event)
