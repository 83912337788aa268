"""The checks of the real server that clients here can fail: names, labels, a pod's containers and its update."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from launchguard.lab.kube.objects import JsonObject, labels_of, metadata, part
from launchguard.lab.kube.status import invalid

if TYPE_CHECKING:
    from launchguard.lab.kube.resources import Resource

_SUBDOMAIN = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_SUBDOMAIN_RULE = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must "
    "start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is "
    r"'[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)
_LABEL_VALUE = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_LABEL_RULE = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for "
    "validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_LONGEST_NAME: Final = 253
_LONGEST_LABEL: Final = 63

_MUTABLE_SPEC: Final = frozenset(
    {
        "activeDeadlineSeconds",
        "terminationGracePeriodSeconds",
        "tolerations",
        "schedulingGates",
        "containers",
        "initContainers",
    }
)
_IMMUTABLE_RULE = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only additions to existing "
    "tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)"
)

_Causes = list[tuple[str, str, str]]


def check_new(resource: Resource, obj: JsonObject) -> None:
    """Check an object on its way in.

    Raises:
        ApiError: 422, with all causes.
    """
    causes = [*_name_causes(metadata(obj).get("name", "")), *_label_causes(obj)]
    if resource.kind == "Pod":
        causes += _container_causes(part(obj, "spec"))
    _refuse(resource, obj, causes)


def check_changed(resource: Resource, new: JsonObject, old: JsonObject) -> None:
    """Check an object's next state.

    Raises:
        ApiError: 422, with all causes.
    """
    causes = _label_causes(new)
    if resource.kind == "Pod" and _frozen_spec(new) != _frozen_spec(old):
        causes.append(("spec", "FieldValueForbidden", f"Forbidden: {_IMMUTABLE_RULE}"))
    if old.get("immutable") and any(new.get(name) != old.get(name) for name in ("data", "binaryData")):
        rule = "Forbidden: field is immutable when `immutable` is set"
        causes.append(("data", "FieldValueForbidden", rule))
    _refuse(resource, new, causes)


def _refuse(resource: Resource, obj: JsonObject, causes: _Causes) -> None:
    if causes:
        raise invalid(resource, metadata(obj).get("name", ""), causes)


def _name_causes(name: str) -> _Causes:
    if not name:
        return [("metadata.name", "FieldValueRequired", "Required value: name or generateName is required")]
    if len(name) > _LONGEST_NAME:
        rule = f'Invalid value: "{name}": must be no more than {_LONGEST_NAME} characters'
        return [("metadata.name", "FieldValueInvalid", rule)]
    if not _SUBDOMAIN.fullmatch(name):
        return [("metadata.name", "FieldValueInvalid", f'Invalid value: "{name}": {_SUBDOMAIN_RULE}')]
    return []


def _label_causes(obj: JsonObject) -> _Causes:
    causes: _Causes = []
    for value in map(str, labels_of(obj).values()):
        if len(value) > _LONGEST_LABEL:
            rule = f'Invalid value: "{value}": must be no more than {_LONGEST_LABEL} characters'
            causes.append(("metadata.labels", "FieldValueInvalid", rule))
        if not _LABEL_VALUE.fullmatch(value):
            rule = f'Invalid value: "{value}": {_LABEL_RULE}'
            causes.append(("metadata.labels", "FieldValueInvalid", rule))
    return causes


def _container_causes(spec: JsonObject) -> _Causes:
    containers = spec.get("containers") or []
    if not containers:
        return [("spec.containers", "FieldValueRequired", "Required value")]
    return [
        (f"spec.containers[{place}].{name}", "FieldValueRequired", "Required value")
        for place, container in enumerate(containers)
        for name in ("name", "image")
        if not container.get(name)
    ]


def _frozen_spec(pod: JsonObject) -> JsonObject:
    """Give what of a pod's spec may not change after its creation."""
    spec = part(pod, "spec")
    frozen: JsonObject = {name: value for name, value in spec.items() if name not in _MUTABLE_SPEC}
    for kind in ("containers", "initContainers"):
        frozen[kind] = [{**container, "image": ""} for container in spec.get(kind) or []]
    return frozen
