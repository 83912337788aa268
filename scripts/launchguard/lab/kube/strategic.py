"""Strategic merge patches: as RFC 7396, but lists of named things are merged by their names.

The real server takes the merge keys from its Go types; those of the served resources are in the table below.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from launchguard.lab.kube.objects import JsonObject, JsonValue

_MERGE_KEYS: Final = {
    "conditions": "type",
    "containers": "name",
    "env": "name",
    "ephemeralContainers": "name",
    "hostAliases": "ip",
    "hostIPs": "ip",
    "imagePullSecrets": "name",
    "initContainers": "name",
    "ownerReferences": "uid",
    "podIPs": "ip",
    "ports": "containerPort",
    "resourceClaims": "name",
    "secrets": "name",
    "topologySpreadConstraints": "topologyKey",
    "volumeDevices": "devicePath",
    "volumeMounts": "mountPath",
    "volumes": "name",
}
# Lists of plain values that are merged as sets.
_SETS: Final = frozenset({"finalizers"})

_DIRECTIVE = "$patch"
_RETAIN = "$retainKeys"
_DELETE_PREFIX = "$deleteFromPrimitiveList/"
_ORDER_PREFIX = "$setElementOrder/"


def merge(old: JsonObject, patch: JsonObject) -> JsonObject:
    """Give `old` with the patch applied; `old` may be changed."""
    if patch.get(_DIRECTIVE) == "delete":
        return {}
    merged = {} if patch.get(_DIRECTIVE) == "replace" else old
    if _RETAIN in patch:
        merged = {name: value for name, value in merged.items() if name in patch[_RETAIN]}
    for name, value in patch.items():
        if not name.startswith("$"):
            _merge_field(merged, name, value)
    for name, value in patch.items():
        _apply_list_directive(merged, name, value)
    return merged


def _merge_field(merged: JsonObject, name: str, value: JsonValue) -> None:
    if value is None:
        merged.pop(name, None)
    elif isinstance(value, dict):
        old = merged.get(name)
        merged[name] = merge(old if isinstance(old, dict) else {}, value)
    elif isinstance(value, list):
        merged[name] = _merge_list(name, merged.get(name) or [], value)
    else:
        merged[name] = value


def _merge_list(name: str, old: list[JsonValue], patch: list[JsonValue]) -> list[JsonValue]:
    if name in _SETS:
        return [*old, *(item for item in patch if item not in old)]
    key = _MERGE_KEYS.get(name)
    if key is None or not all(isinstance(item, dict) for item in patch):
        return patch
    if any(item == {_DIRECTIVE: "replace"} for item in patch):
        return [item for item in patch if _DIRECTIVE not in item]
    return _merge_named(key, old, patch)


def _merge_named(key: str, old: list[JsonObject], patch: list[JsonObject]) -> list[JsonObject]:
    merged = list(old)
    for item in patch:
        place = next((at for at, had in enumerate(merged) if had.get(key) == item.get(key)), None)
        if item.get(_DIRECTIVE) == "delete":
            merged = [had for had in merged if had.get(key) != item.get(key)]
        elif place is None:
            merged.append(merge({}, item))
        else:
            merged[place] = merge(merged[place], item)
    return merged


def _apply_list_directive(merged: JsonObject, name: str, value: list[JsonValue]) -> None:
    if name.startswith(_DELETE_PREFIX):
        field = name.removeprefix(_DELETE_PREFIX)
        merged[field] = [item for item in merged.get(field) or [] if item not in value]
    elif name.startswith(_ORDER_PREFIX):
        field = name.removeprefix(_ORDER_PREFIX)
        merged[field] = _ordered(field, merged.get(field) or [], value)


def _ordered(field: str, items: list[JsonValue], order: list[JsonValue]) -> list[JsonValue]:
    """Sort the items that the order names as it says; others keep to the end."""
    key = _MERGE_KEYS.get(field)

    def identity(item: JsonValue) -> JsonValue:
        return item.get(key) if isinstance(item, dict) and key else item

    places = {identity(item): place for place, item in enumerate(order)}
    return sorted(items, key=lambda item: places.get(identity(item), len(places)))
