"""A container's variables, command and arguments, as the kubelet works them out."""

from __future__ import annotations

import base64
import re
from typing import TYPE_CHECKING, Final

from launchguard.lab.kube.objects import JsonObject, Key, annotations_of, key_of, labels_of, metadata, part
from launchguard.lab.kube.resources import CONFIGMAPS, SECRETS, Resource

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    Lookup = Callable[[Resource, Key], JsonObject | None]

_SUBSCRIPT: Final = re.compile(r"metadata\.(?P<kind>labels|annotations)\['(?P<name>[^']+)'\]")
_REFERENCE: Final = re.compile(r"\$(?:\$|\((?P<name>[A-Za-z_.-][A-Za-z0-9_.-]*)\))")


class ConfigError(Exception):
    """A container's configuration names something that is not there: CreateContainerConfigError."""


def expand(text: str, env: Mapping[str, str]) -> str:
    """Replace `$(NAME)`; unknown names stay, and `$$` makes a dollar sign.

    >>> expand("$(A) $(B) $$(A)", {"A": "x"})
    'x $(B) $(A)'
    """

    def replaced(match: re.Match[str]) -> str:
        if match.group() == "$$":
            return "$"
        return env.get(match.group("name"), match.group())

    return _REFERENCE.sub(replaced, text)


def argument_list(container: JsonObject, entrypoint: Sequence[str], env: Mapping[str, str]) -> list[str]:
    """Give what to run: command and args of the container, with the image's entrypoint where it has no command."""
    command = container.get("command") or list(entrypoint)
    return [expand(str(word), env) for word in [*command, *(container.get("args") or [])]]


def container_env(
    pod: JsonObject, container: JsonObject, placement: Mapping[str, str], lookup: Lookup
) -> dict[str, str]:
    """Work out the variables of a container.

    Args:
        placement: values for `status.*` and `spec.nodeName`, which the stored pod may not have yet.
        lookup: finds config maps and secrets.

    Raises:
        ConfigError: one that is not optional is missing.
    """
    env = {"HOSTNAME": str(metadata(pod)["name"])}
    for source in container.get("envFrom") or []:
        env |= _all_from(source, key_of(pod).namespace, lookup)
    for entry in container.get("env") or []:
        value = _value(entry, pod, placement, lookup)
        if value is not None:
            env[str(entry["name"])] = expand(value, env)
    return env


def _value(entry: JsonObject, pod: JsonObject, placement: Mapping[str, str], lookup: Lookup) -> str | None:
    match entry.get("valueFrom"):
        case None:
            return str(entry.get("value") or "")
        case {"fieldRef": reference}:
            return _field(pod, str(reference["fieldPath"]), placement)
        case {"configMapKeyRef": reference}:
            return _keyed(CONFIGMAPS, reference, pod, lookup)
        case {"secretKeyRef": reference}:
            return _keyed(SECRETS, reference, pod, lookup)
        case _:
            # resourceFieldRef: what a container without limits is told depends on its node.
            return "0"


def _field(pod: JsonObject, path: str, placement: Mapping[str, str]) -> str:
    if found := _SUBSCRIPT.fullmatch(path):
        source = labels_of(pod) if found["kind"] == "labels" else annotations_of(pod)
        return source.get(found["name"], "")
    if path in placement:
        return placement[path]
    value: object = pod
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    if isinstance(value, dict):
        return "\n".join(f'{name}="{text}"' for name, text in sorted(value.items()))
    return "" if value is None else str(value)


def values_of(resource: Resource, obj: JsonObject) -> dict[str, str]:
    """Give the texts of a config map or a secret by key."""
    if resource is CONFIGMAPS:
        return {name: str(value) for name, value in part(obj, "data").items()}
    return {name: base64.b64decode(value).decode() for name, value in part(obj, "data").items()}


def _keyed(resource: Resource, reference: JsonObject, pod: JsonObject, lookup: Lookup) -> str | None:
    name, key = str(reference.get("name", "")), str(reference["key"])
    obj = lookup(resource, Key(key_of(pod).namespace, name))
    values = {} if obj is None else values_of(resource, obj)
    if key in values or reference.get("optional"):
        return values.get(key)
    if obj is None:
        raise ConfigError(f'{resource.singular} "{name}" not found')
    raise ConfigError(f"couldn't find key {key} in {resource.kind} {key_of(pod).namespace}/{name}")


def _all_from(source: JsonObject, namespace: str, lookup: Lookup) -> dict[str, str]:
    resource, field = (CONFIGMAPS, "configMapRef") if "configMapRef" in source else (SECRETS, "secretRef")
    reference = part(source, field)
    obj = lookup(resource, Key(namespace, str(reference.get("name", ""))))
    if obj is None and not reference.get("optional"):
        raise ConfigError(f'{resource.singular} "{reference.get("name")}" not found')
    prefix = source.get("prefix", "")
    return {f"{prefix}{name}": value for name, value in values_of(resource, obj or {}).items()}
