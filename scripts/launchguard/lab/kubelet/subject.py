"""Pods as the fault rules see them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launchguard.lab.faults import Subject
from launchguard.lab.kube.objects import key_of, labels_of, phase_of

if TYPE_CHECKING:
    from launchguard.lab.kube.objects import JsonObject


def pod_subject(pod: JsonObject) -> Subject:
    key = key_of(pod)
    return Subject(resource="pods", namespace=key.namespace, name=key.name, labels=labels_of(pod), phase=phase_of(pod))
