"""What each verb does: from a call to the code and the object of its answer."""

from __future__ import annotations

from http import HTTPStatus
from typing import TYPE_CHECKING, Final

from launchguard.lab.kube.listing import Lister
from launchguard.lab.kube.objects import JsonObject, Key, key_of, part
from launchguard.lab.kube.registry import DeleteOptions, delete_options
from launchguard.lab.kube.requests import whole_number
from launchguard.lab.kube.resources import PODS
from launchguard.lab.kube.status import bad_request

if TYPE_CHECKING:
    from collections.abc import Callable

    from launchguard.lab.kube.call import Call
    from launchguard.lab.kube.registry import Registry

Answer = tuple[HTTPStatus, JsonObject]


class Endpoints:
    """Answers every call that ends; watches and logs, which go on, are served elsewhere."""

    def __init__(self, registry: Registry) -> None:
        self._registry = registry
        self._store = registry.store
        self._lister = Lister(registry)
        self._verbs: Final[dict[str, Callable[[Call], Answer]]] = {
            "create": self._create,
            "delete": self._delete,
            "deletecollection": self._delete_collection,
            "get": self._get,
            "list": self._list,
            "patch": self._patch,
            "update": self._update,
        }

    def answer(self, call: Call) -> Answer:
        """Carry out a call.

        Raises:
            ApiError: whatever the real server would refuse.
        """
        if call.query.get("dryRun"):
            raise bad_request("dryRun is not served here")
        return self._verbs[call.target.verb](call)

    def stored(self, call: Call) -> JsonObject | None:
        """Give the object that a call names, if it is there."""
        return self._store.find(call.target.resource, call.key) if call.target.name else None

    def _shown(self, call: Call, obj: JsonObject, code: HTTPStatus = HTTPStatus.OK) -> Answer:
        if obj.get("kind") == "Status":
            return code, obj
        return code, call.presenter(self._registry.clock.now()).one(obj)

    def _get(self, call: Call) -> Answer:
        return self._shown(call, self._store.get(call.target.resource, call.key))

    def _list(self, call: Call) -> Answer:
        return HTTPStatus.OK, self._lister.list(call)

    def _create(self, call: Call) -> Answer:
        body, target = call.object_body(), call.target
        match target.subresource:
            case "eviction":
                return HTTPStatus.CREATED, self._registry.evict(call.key, body)
            case "binding":
                self._registry.bind(call.key, str(part(body, "target").get("name", "")))
                status = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}
                return HTTPStatus.CREATED, status
            case _:
                created = self._registry.create(target.resource, target.namespace, body)
                return self._shown(call, created, HTTPStatus.CREATED)

    def _update(self, call: Call) -> Answer:
        target = call.target
        return self._shown(
            call, self._registry.update(target.resource, call.key, call.object_body(), target.subresource)
        )

    def _patch(self, call: Call) -> Answer:
        target = call.target
        patched = self._registry.patch(target.resource, call.key, call.body, call.media_type, target.subresource)
        return self._shown(call, patched)

    def _delete(self, call: Call) -> Answer:
        deleted = self._registry.delete(call.target.resource, call.key, _options(call))
        return self._shown(call, deleted)

    def _delete_collection(self, call: Call) -> Answer:
        resource, options = call.target.resource, _options(call)
        chosen = call.filter().pick(self._store.scan(resource, call.target.namespace))
        for obj in chosen:
            self._registry.delete(resource, key_of(obj), options)
        meta = {"resourceVersion": str(self._store.version)}
        return HTTPStatus.OK, call.presenter(self._registry.clock.now()).many(chosen, meta)


def _options(call: Call) -> DeleteOptions:
    """Read the options of a deletion, which stand in the body, or (the grace) in the query."""
    body = call.object_body() if call.body else {}
    grace = whole_number(call.query, "gracePeriodSeconds")
    return delete_options(body if grace is None else {"gracePeriodSeconds": grace, **body})


def pod_of(registry: Registry, call: Call) -> JsonObject:
    """Give the pod whose subresource is asked for.

    Raises:
        ApiError: 404.
    """
    return registry.store.get(PODS, Key(call.target.namespace, call.target.name))
