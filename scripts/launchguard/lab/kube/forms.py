"""The forms in which a client may ask for objects: as they are, metadata only, or as a table."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from launchguard.lab.kube.objects import JsonObject, metadata
from launchguard.lab.kube.status import not_acceptable
from launchguard.lab.kube.tables import columns, table_row

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from launchguard.lab.kube.resources import Resource

_META = "meta.k8s.io/v1"


class Form(StrEnum):
    FULL = ""
    PARTIAL = "PartialObjectMetadata"
    PARTIAL_LIST = "PartialObjectMetadataList"
    TABLE = "Table"


def wanted_form(accept: str) -> Form:
    """Choose the first form of an Accept header that is served.

    Raises:
        ApiError: 406, the client takes no JSON.
    """
    ranges = [piece.strip() for piece in accept.split(",") if piece.strip()] or ["*/*"]
    for media_range in ranges:
        media, *parameters = [piece.strip() for piece in media_range.split(";")]
        asked = dict(piece.partition("=")[::2] for piece in parameters)
        if media not in {"application/json", "application/*", "*/*"}:
            continue
        if not asked.get("as"):
            return Form.FULL
        if asked["as"] in set(Form) and asked.get("v") == "v1" and asked.get("g") == "meta.k8s.io":
            return Form(asked["as"])
    raise not_acceptable()


@dataclass(frozen=True, slots=True)
class Presenter:
    """Writes objects in one form.

    Args:
        include: which object a table's row carries: `Metadata`, `Object` or `None`.
    """

    resource: Resource
    form: Form
    now: datetime
    include: str = "Metadata"

    def one(self, obj: JsonObject) -> JsonObject:
        match self.form:
            case Form.TABLE:
                version = {"resourceVersion": metadata(obj).get("resourceVersion", "")}
                return self._table([obj], version, headed=True)
            case Form.PARTIAL | Form.PARTIAL_LIST:
                return _partial(obj)
            case Form.FULL:
                return obj

    def event(self, obj: JsonObject, *, first: bool) -> JsonObject:
        """Give the object of a watch event; only the first table of a stream has its columns."""
        if self.form is not Form.TABLE:
            return self.one(obj)
        version = {"resourceVersion": metadata(obj).get("resourceVersion", "")}
        return self._table([obj], version, headed=first)

    def bookmark(self, meta: JsonObject) -> JsonObject:
        """Give the object of a bookmark, which has nothing but a version."""
        if self.form is Form.TABLE:
            return self._table([], meta, headed=False)
        return self.one({"kind": self.resource.kind, "apiVersion": self.resource.api_version, "metadata": meta})

    def many(self, objects: Sequence[JsonObject], list_meta: JsonObject) -> JsonObject:
        match self.form:
            case Form.TABLE:
                return self._table(objects, list_meta, headed=True)
            case Form.PARTIAL | Form.PARTIAL_LIST:
                items = [_partial(obj) for obj in objects]
                kind, version = Form.PARTIAL_LIST.value, _META
            case Form.FULL:
                items = [_bare(obj) for obj in objects]
                kind, version = f"{self.resource.kind}List", self.resource.api_version
        return {"kind": kind, "apiVersion": version, "metadata": list_meta, "items": items}

    def _table(self, objects: Sequence[JsonObject], list_meta: JsonObject, *, headed: bool) -> JsonObject:
        rows = [{"cells": table_row(self.resource, obj, self.now), "object": self._carried(obj)} for obj in objects]
        return {
            "kind": "Table",
            "apiVersion": _META,
            "metadata": list_meta,
            "columnDefinitions": columns(self.resource) if headed else [],
            "rows": rows,
        }

    def _carried(self, obj: JsonObject) -> JsonObject | None:
        if self.include == "None":
            return None
        return obj if self.include == "Object" else _partial(obj)


def _partial(obj: JsonObject) -> JsonObject:
    return {"kind": Form.PARTIAL.value, "apiVersion": _META, "metadata": metadata(obj)}


def _bare(obj: JsonObject) -> JsonObject:
    """Give a list's item: its kind stands in the list's."""
    return {name: value for name, value in obj.items() if name not in {"kind", "apiVersion"}}
