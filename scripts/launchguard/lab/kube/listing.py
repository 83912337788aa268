"""Lists, whole or in pages that all show the moment of the first."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING, Final

from launchguard.lab.kube.requests import whole_number
from launchguard.lab.kube.status import bad_request, stale_continue, too_large, too_old

if TYPE_CHECKING:
    from collections.abc import Mapping

    from launchguard.lab.kube.call import Call
    from launchguard.lab.kube.objects import JsonObject
    from launchguard.lab.kube.registry import Registry

_MOST_SNAPSHOTS: Final = 100


@dataclass(frozen=True, slots=True)
class _Rest:
    """What of a list has not been asked for yet, and the version at which it was read."""

    objects: list[JsonObject]
    version: int


class Lister:
    """Answers lists.

    Objects in the store are never changed, so that keeping a snapshot for the next page costs nothing.
    """

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._store = registry.store
        self._snapshots: OrderedDict[str, _Rest] = OrderedDict()
        self._numbers = count(1)

    def list(self, call: Call) -> JsonObject:
        """Answer a list in the form that the client wants.

        Raises:
            ApiError: 400, 406, 410 for a page that is too old, 504 for a version that is not there yet.
        """
        presenter = call.presenter(self._registry.clock.now())
        rest = self._start(call)
        limit = whole_number(call.query, "limit") or len(rest.objects)
        page, left = rest.objects[:limit], rest.objects[limit:]
        meta: JsonObject = {"resourceVersion": str(rest.version)}
        if left:
            meta["continue"] = self._keep(_Rest(left, rest.version))
            if not call.query.get("labelSelector") and not call.query.get("fieldSelector"):
                meta["remainingItemCount"] = len(left)
        return presenter.many(page, meta)

    def _start(self, call: Call) -> _Rest:
        token = call.query.get("continue")
        if token:
            return self._resume(call, token)
        self._check_version(call.query)
        chosen = call.filter().pick(self._store.scan(call.target.resource, call.target.namespace))
        return _Rest(chosen, self._store.version)

    def _resume(self, call: Call, token: str) -> _Rest:
        rest = self._snapshots.get(token)
        if rest is None or rest.version < self._store.log(call.target.resource).floor:
            raise stale_continue()
        return rest

    def _keep(self, rest: _Rest) -> str:
        token = f"page-{next(self._numbers)}"
        self._snapshots[token] = rest
        while len(self._snapshots) > _MOST_SNAPSHOTS:
            self._snapshots.popitem(last=False)
        return token

    def _check_version(self, query: Mapping[str, str]) -> None:
        version, rule = whole_number(query, "resourceVersion"), query.get("resourceVersionMatch")
        if rule and version is None:
            raise bad_request("resourceVersionMatch is forbidden unless resourceVersion is provided")
        if version and version > self._store.version:
            raise too_large(version, self._store.version)
        if version and rule == "Exact" and version < self._store.version:
            # Old states are not kept here; the real server answers this way once etcd is compacted.
            raise too_old(version, self._store.version)
