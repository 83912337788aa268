"""Where the objects are: one version counter for all, as etcd has. Knows neither HTTP nor what a pod is."""

from __future__ import annotations

import copy
from collections import defaultdict
from typing import TYPE_CHECKING

from launchguard.lab.kube.changelog import Change, ChangeLog, ChangeType
from launchguard.lab.kube.objects import JsonObject, Key, key_of, version_of
from launchguard.lab.kube.status import already_exists, conflict, not_found

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from launchguard.lab.kube.resources import Resource

# A young cluster's version is never near 0, and "0" means something else to a list or a watch.
_FIRST_VERSION = 1000


class Store:
    """Objects by resource and key.

    Objects that it hands out are shared and must not be changed: copy, change, `replace`. It is no concern of the
    store's which changes are allowed; see `Registry`. It belongs to one thread.

    Args:
        window: how many changes of each resource can be watched back.
    """

    def __init__(self, window: int = 5000) -> None:
        self._objects: dict[Resource, dict[Key, JsonObject]] = defaultdict(dict)
        self._logs: dict[Resource, ChangeLog] = defaultdict(lambda: ChangeLog(window))
        self._listeners: list[Callable[[Resource, Change], None]] = []
        self.version = _FIRST_VERSION

    def on_commit(self, listener: Callable[[Resource, Change], None]) -> None:
        """Have `listener` called at the end of each change; it must not block and should not raise."""
        self._listeners.append(listener)

    def log(self, resource: Resource) -> ChangeLog:
        return self._logs[resource]

    def find(self, resource: Resource, key: Key) -> JsonObject | None:
        return self._objects[resource].get(key)

    def get(self, resource: Resource, key: Key) -> JsonObject:
        """Give an object.

        Raises:
            ApiError: 404.
        """
        found = self.find(resource, key)
        if found is None:
            raise not_found(resource, key.name)
        return found

    def scan(self, resource: Resource, namespace: str = "") -> Iterator[JsonObject]:
        """Give all objects, or a namespace's, in the order of their keys."""
        held = self._objects[resource]
        return (held[key] for key in sorted(held) if not namespace or key.namespace == namespace)

    def insert(self, resource: Resource, obj: JsonObject) -> JsonObject:
        """Add an object.

        Raises:
            ApiError: 409 AlreadyExists.
        """
        key = key_of(obj)
        if key in self._objects[resource]:
            raise already_exists(resource, key.name)
        stored = self._stamped(obj)
        self._objects[resource][key] = stored
        self._commit(resource, Change(ChangeType.ADDED, self.version, stored))
        return stored

    def replace(self, resource: Resource, obj: JsonObject, *, expected: int | None = None) -> JsonObject:
        """Put a new state in an object's place; one that is no change makes no version.

        Args:
            obj: the new state.
            expected: the version that the object must still have.

        Raises:
            ApiError: 404, or 409 Conflict.
        """
        key = key_of(obj)
        current = self.get(resource, key)
        if expected is not None and version_of(current) != expected:
            raise conflict(resource, key.name)
        if _same(obj, current):
            return current
        stored = self._stamped(obj)
        self._objects[resource][key] = stored
        self._commit(resource, Change(ChangeType.MODIFIED, self.version, stored, current))
        return stored

    def remove(self, resource: Resource, key: Key) -> JsonObject:
        """Take an object out, and give its last state with the version of the removal.

        Raises:
            ApiError: 404.
        """
        current = self.get(resource, key)
        del self._objects[resource][key]
        last = self._stamped(current)
        self._commit(resource, Change(ChangeType.DELETED, self.version, last, current))
        return last

    def compact(self) -> None:
        """Forget the whole history: every watch from before now gets 410."""
        for log in self._logs.values():
            log.compact(self.version)

    def _stamped(self, obj: JsonObject) -> JsonObject:
        self.version += 1
        stored = copy.deepcopy(obj)
        stored["metadata"]["resourceVersion"] = str(self.version)
        return stored

    def _commit(self, resource: Resource, change: Change) -> None:
        self._logs[resource].append(change)
        for listener in self._listeners:
            listener(resource, change)


def _same(new: JsonObject, old: JsonObject) -> bool:
    """Compare two states, whatever version the new one names."""
    if {**new, "metadata": None} != {**old, "metadata": None}:
        return False
    version = {"resourceVersion": old["metadata"]["resourceVersion"]}
    return bool(new["metadata"] | version == old["metadata"])
