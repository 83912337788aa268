"""The three kinds of patch that clients send; each gives a new object and leaves the old one alone."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Final

import jsonpatch
from jsonpointer import JsonPointerException

from launchguard.lab.kube.status import ApiError, bad_request, unsupported_media_type
from launchguard.lab.kube.strategic import merge as strategic_merge

if TYPE_CHECKING:
    from collections.abc import Callable

    from launchguard.lab.kube.objects import JsonObject, JsonValue


def _json_patch(obj: JsonObject, patch: JsonValue) -> JsonObject:
    if not isinstance(patch, list):
        raise bad_request("json: cannot unmarshal object into Go value of type jsonpatch.Patch")
    try:
        patched: JsonObject = jsonpatch.apply_patch(obj, patch)
    except (jsonpatch.JsonPatchException, JsonPointerException) as error:
        raise ApiError(422, "Invalid", f"the server rejected our request: {error}") from error
    return patched


def _merge_patch(obj: JsonObject, patch: JsonValue) -> JsonObject:
    """Apply RFC 7396."""
    merged = dict(obj)
    for name, value in patch.items():
        if value is None:
            merged.pop(name, None)
        elif isinstance(value, dict):
            old = merged.get(name)
            merged[name] = _merge_patch(old if isinstance(old, dict) else {}, value)
        else:
            merged[name] = value
    return merged


_KINDS: Final[dict[str, Callable[[JsonObject, JsonValue], JsonObject]]] = {
    "application/json-patch+json": _json_patch,
    "application/merge-patch+json": _merge_patch,
    "application/strategic-merge-patch+json": strategic_merge,
}


def apply_patch(obj: JsonObject, patch: JsonValue, media_type: str) -> JsonObject:
    """Give the patched object.

    Raises:
        ApiError: 415 for a kind of patch that is not served, 400 or 422 for one that does not fit.
    """
    kind = _KINDS.get(media_type)
    if kind is None:
        raise unsupported_media_type(media_type, list(_KINDS))
    if kind is not _json_patch and not isinstance(patch, dict):
        raise bad_request("json: cannot unmarshal array into Go value of type map[string]interface {}")
    return kind(copy.deepcopy(obj), copy.deepcopy(patch))
