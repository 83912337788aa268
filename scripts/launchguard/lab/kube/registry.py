"""The only place that changes objects: what the API server does between a request and its store."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from launchguard.lab.kube import pods
from launchguard.lab.kube.objects import Identities, JsonObject, JsonValue, Key, WallClock, metadata, part, uid_of
from launchguard.lab.kube.patches import apply_patch
from launchguard.lab.kube.resources import NAMESPACES, PODS, Resource
from launchguard.lab.kube.status import (
    bad_request,
    conflict,
    invalid,
    method_not_allowed,
    precondition_failed,
    success,
)
from launchguard.lab.kube.validation import check_changed, check_new

if TYPE_CHECKING:
    from launchguard.lab.kube.store import Store

# What no client can change once the object is there.
_SYSTEM_FIELDS: Final = (
    "name",
    "namespace",
    "uid",
    "generateName",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
)


@dataclass(frozen=True, slots=True)
class DeleteOptions:
    """How to delete: the grace in seconds (None: the pod's own), and what must still hold."""

    grace: int | None = None
    uid: str | None = None
    version: str | None = None


class Registry:
    """Creates, changes and deletes objects by the real server's rules.

    Args:
        store: where they are kept.
        clock: for creation and deletion times.
        identities: for uids and generated names.
    """

    def __init__(self, store: Store, clock: WallClock, identities: Identities) -> None:
        self.store = store
        self.clock = clock
        self._identities = identities

    def create(self, resource: Resource, namespace: str, body: JsonObject) -> JsonObject:
        """Add an object.

        Raises:
            ApiError: 400, 403 (quota), 404 (no such namespace), 409 or 422.
        """
        obj = self._admitted(resource, namespace, body)
        if resource is PODS:
            obj = pods.with_defaults(obj)
        elif resource is NAMESPACES:
            obj = {**obj, "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"}}
        check_new(resource, obj)
        if resource is PODS:
            pods.check_quota(self.store, obj)
        return self.store.insert(resource, obj)

    def _admitted(self, resource: Resource, namespace: str, body: JsonObject) -> JsonObject:
        _check_type(resource, body)
        meta = dict(metadata(body))
        if meta.get("resourceVersion"):
            raise bad_request("resourceVersion should not be set on objects to be created")
        if meta.get("generateName") and not meta.get("name"):
            meta["name"] = f"{meta['generateName']}{self._identities.suffix()}"
        if resource.namespaced:
            _check_namespace(meta.get("namespace"), namespace)
            self.store.get(NAMESPACES, Key("", namespace))
            meta["namespace"] = namespace
        meta |= {"uid": self._identities.uid(), "creationTimestamp": self.clock.stamp()}
        named = {"kind": resource.kind, "apiVersion": resource.api_version}
        return copy.deepcopy({**body, **named, "metadata": meta})

    def update(self, resource: Resource, key: Key, body: JsonObject, subresource: str = "") -> JsonObject:
        """Put a client's state in an object's place.

        Raises:
            ApiError: 400, 404, 409 or 422.
        """
        current = self.store.get(resource, key)
        _check_type(resource, body)
        _check_namespace(metadata(body).get("namespace"), key.namespace)
        if metadata(body).get("name", key.name) != key.name:
            wrong = metadata(body)["name"]
            raise bad_request(f"the name of the object ({wrong}) does not match the name on the URL ({key.name})")
        return self._put(resource, current, body, subresource)

    def patch(
        self, resource: Resource, key: Key, patch: JsonValue, media_type: str, subresource: str = ""
    ) -> JsonObject:
        """Apply a client's patch.

        Raises:
            ApiError: 400, 404, 409, 415 or 422.
        """
        current = self.store.get(resource, key)
        return self._put(resource, current, apply_patch(current, patch, media_type), subresource)

    def _put(self, resource: Resource, current: JsonObject, body: JsonObject, subresource: str) -> JsonObject:
        meta, old = dict(metadata(body)), metadata(current)
        if meta.get("uid", old["uid"]) != old["uid"]:
            raise precondition_failed(resource, old["name"], "UID", str(meta["uid"]), old["uid"])
        expected = int(meta["resourceVersion"]) if meta.get("resourceVersion") else None
        for name in _SYSTEM_FIELDS:
            meta.pop(name, None)
            if name in old:
                meta[name] = old[name]
        new = {**body, "metadata": meta, "kind": resource.kind, "apiVersion": resource.api_version}
        _keep_other_half(resource, new, current, subresource)
        check_changed(resource, new, current)
        return self._settled(resource, self.store.replace(resource, new, expected=expected))

    def delete(self, resource: Resource, key: Key, options: DeleteOptions) -> JsonObject:
        """Delete an object, or mark a running pod so that its kubelet ends it.

        Returns:
            The pod's last state, or a Status for other resources.

        Raises:
            ApiError: 404, or 409 for a precondition that does not hold.
        """
        current = self.store.get(resource, key)
        _check_preconditions(resource, current, options)
        if resource is not PODS:
            self.store.remove(resource, key)
            return success(resource, key.name, uid_of(current))
        grace = pods.grace_for(current, options.grace)
        marked = self.store.replace(resource, pods.terminating(current, grace, self.clock.now()))
        return self._settled(resource, marked)

    def _settled(self, resource: Resource, obj: JsonObject) -> JsonObject:
        """Take out an object whose deletion has nothing more to wait for."""
        meta = obj["metadata"]
        due = "deletionTimestamp" in meta and meta.get("deletionGracePeriodSeconds") == 0
        if due and not meta.get("finalizers"):
            return self.store.remove(resource, Key(meta.get("namespace", ""), meta["name"]))
        return obj

    def evict(self, key: Key, body: JsonObject) -> JsonObject:
        """Evict a pod as a drain does: say so in its conditions, then delete it.

        Raises:
            ApiError: 404.
        """
        options = delete_options(part(body, "deleteOptions"))
        pod = self.store.get(PODS, key)
        _check_preconditions(PODS, pod, options)
        self.store.replace(PODS, pods.with_condition(pod, pods.eviction_condition(self.clock.now())))
        self.delete(PODS, key, options)
        return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}

    def bind(self, key: Key, node: str) -> JsonObject:
        """Give a pod its node.

        Raises:
            ApiError: 404, or 409 where it has one, or is being deleted.
        """
        pod = self.store.get(PODS, key)
        if "deletionTimestamp" in metadata(pod):
            raise conflict(PODS, key.name, f"pod {key.name} is being deleted, cannot be assigned to a host")
        if taken := part(pod, "spec").get("nodeName"):
            raise conflict(PODS, key.name, f'pod {key.name} is already assigned to node "{taken}"')
        return self.store.replace(PODS, pods.bound(pod, node, self.clock.now()))


def delete_options(body: JsonObject) -> DeleteOptions:
    """Read a `DeleteOptions` object.

    Raises:
        ApiError: 422, a grace period below zero.
    """
    grace = body.get("gracePeriodSeconds")
    if grace is not None and int(grace) < 0:
        cause = ("gracePeriodSeconds", "FieldValueInvalid", f"Invalid value: {grace}: must be non-negative")
        raise invalid(PODS, "", [cause])
    must = part(body, "preconditions")
    return DeleteOptions(None if grace is None else int(grace), must.get("uid"), must.get("resourceVersion"))


def _check_type(resource: Resource, body: JsonObject) -> None:
    wanted = {"apiVersion": resource.api_version, "kind": resource.kind}
    for name, expected in wanted.items():
        given = body.get(name, expected)
        if given != expected:
            what = "API version" if name == "apiVersion" else "kind"
            raise bad_request(f"the {what} in the data ({given}) does not match the expected {what} ({expected})")


def _check_namespace(given: str | None, wanted: str) -> None:
    if given and given != wanted:
        raise bad_request("the namespace of the provided object does not match the namespace sent on the request")


def _check_preconditions(resource: Resource, obj: JsonObject, options: DeleteOptions) -> None:
    meta = metadata(obj)
    for name, wanted, found in (
        ("UID", options.uid, meta["uid"]),
        ("ResourceVersion", options.version, meta["resourceVersion"]),
    ):
        if wanted is not None and wanted != found:
            raise precondition_failed(resource, meta["name"], name, wanted, found)


def _keep_other_half(resource: Resource, new: JsonObject, current: JsonObject, subresource: str) -> None:
    """Let a request on the object leave its status alone, and one on its status leave the rest alone."""
    if subresource not in {"", "status"}:
        raise method_not_allowed()
    if not subresource and resource.subresource("status") is None:
        return
    kept = ("spec",) if subresource else ("status",)
    for name in kept:
        new.pop(name, None)
        if name in current:
            new[name] = current[name]
