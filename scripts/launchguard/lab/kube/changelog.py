"""The changes of one resource that watches can still be served from."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from enum import StrEnum
from operator import attrgetter
from typing import TYPE_CHECKING

from launchguard.lab.kube.status import too_old

if TYPE_CHECKING:
    from launchguard.lab.kube.objects import JsonObject


class ChangeType(StrEnum):
    ADDED = "ADDED"
    MODIFIED = "MODIFIED"
    DELETED = "DELETED"


@dataclass(frozen=True, slots=True)
class Change:
    """One committed change.

    Args:
        object: as it is after the change; for a deletion, the last state with the deletion's version.
        previous: as it was before; None for an addition.
    """

    type: ChangeType
    version: int
    object: JsonObject
    previous: JsonObject | None = None


class ChangeLog:
    """A window on the last changes.

    Args:
        window: how many changes are kept at least; up to twice as many may be, to trim in bulk.
    """

    def __init__(self, window: int) -> None:
        self._window = window
        self._changes: list[Change] = []
        self.floor = 0
        """The version of the newest change that was forgotten: older watches cannot be served."""

    def append(self, change: Change) -> None:
        self._changes.append(change)
        if len(self._changes) > 2 * self._window:
            self._forget(len(self._changes) - self._window)

    def compact(self, version: int) -> None:
        """Forget all changes up to and with `version`, as etcd's compaction does."""
        self._forget(bisect_right(self._changes, version, key=attrgetter("version")))
        self.floor = max(self.floor, version)

    def _forget(self, count: int) -> None:
        if count:
            self.floor = self._changes[count - 1].version
            del self._changes[:count]

    def since(self, version: int) -> list[Change]:
        """Give the changes after `version`, oldest first.

        Raises:
            ApiError: 410, some of them were forgotten.
        """
        if version < self.floor:
            raise too_old(version, self.floor)
        return self._changes[bisect_right(self._changes, version, key=attrgetter("version")) :]
