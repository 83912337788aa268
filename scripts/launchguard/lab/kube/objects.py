"""What all Kubernetes objects have in common: identity, metadata, time stamps."""

from __future__ import annotations

import random
import uuid
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple, TypeAlias

JsonValue: TypeAlias = Any
JsonObject: TypeAlias = dict[str, Any]

# The letters that Kubernetes uses in generated names: no vowels, so no words.
_SUFFIX_LETTERS = "bcdfghjklmnpqrstvwxz2456789"


class Key(NamedTuple):
    """What names an object within its resource; `namespace` is empty for cluster-wide ones."""

    namespace: str
    name: str


def part(obj: JsonObject, name: str) -> JsonObject:
    """Give an object's part, such as its metadata, spec or status; an absent one is empty."""
    found: JsonObject = obj.get(name) or {}
    return found


def metadata(obj: JsonObject) -> JsonObject:
    return part(obj, "metadata")


def labels_of(obj: JsonObject) -> dict[str, str]:
    return part(metadata(obj), "labels")


def annotations_of(obj: JsonObject) -> dict[str, str]:
    return part(metadata(obj), "annotations")


def key_of(obj: JsonObject) -> Key:
    meta = metadata(obj)
    return Key(meta.get("namespace", ""), meta.get("name", ""))


def uid_of(obj: JsonObject) -> str:
    return str(metadata(obj).get("uid", ""))


def version_of(obj: JsonObject) -> int:
    return int(metadata(obj).get("resourceVersion") or 0)


def phase_of(obj: JsonObject) -> str:
    return str(part(obj, "status").get("phase", ""))


def identity(obj: JsonObject) -> JsonObject:
    """Give the few fields that a record needs to tell which object, in which state, it speaks of."""
    key, phase = key_of(obj), phase_of(obj)
    known: JsonObject = {"name": key.name, "uid": uid_of(obj), "rv": version_of(obj)}
    if key.namespace:
        known["namespace"] = key.namespace
    if phase:
        known["phase"] = phase
    if metadata(obj).get("deletionTimestamp"):
        known["deleting"] = True
    return known


class WallClock:
    """The control plane's wall clock. It can be stepped, as a fault; the history's clock cannot."""

    def __init__(self) -> None:
        self._offset = timedelta()

    def now(self) -> datetime:
        return datetime.now(UTC) + self._offset

    def stamp(self) -> str:
        return stamp(self.now())

    def step(self, seconds: float) -> None:
        self._offset += timedelta(seconds=seconds)


def stamp(moment: datetime) -> str:
    """Write a moment as Kubernetes' `Time`: UTC, whole seconds.

    >>> stamp(datetime(2026, 1, 2, 3, 4, 5, 6, tzinfo=UTC))
    '2026-01-02T03:04:05Z'
    """
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def parse_stamp(text: str) -> datetime:
    """Read a `Time` or `MicroTime`, with any offset.

    Raises:
        ValueError: the text is no RFC 3339 time.
    """
    moment = datetime.fromisoformat(text)
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


class Identities:
    """Uids and name suffixes, the same ones in the same order for one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(f"identities:{seed}")  # noqa: S311  must replay, is no secret

    def uid(self) -> str:
        return str(uuid.UUID(int=self._random.getrandbits(128), version=4))

    def suffix(self) -> str:
        return "".join(self._random.choices(_SUFFIX_LETTERS, k=5))
