"""Label and field selectors: read from a query, matched against objects."""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, TypeAlias

from launchguard.lab.kube.objects import JsonObject, labels_of
from launchguard.lab.kube.status import ApiError, bad_request

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from launchguard.lab.kube.resources import Resource


class Op(StrEnum):
    EXISTS = "exists"
    ABSENT = "!"
    IN = "in"
    NOT_IN = "notin"
    ABOVE = ">"
    BELOW = "<"


@dataclass(frozen=True, slots=True)
class Requirement:
    """One condition on a label or a field."""

    key: str
    op: Op
    values: frozenset[str] = frozenset()

    def matches(self, found: str | None) -> bool:
        match self.op:
            case Op.EXISTS:
                return found is not None
            case Op.ABSENT:
                return found is None
            case Op.IN:
                return found in self.values
            case Op.NOT_IN:
                return found not in self.values
            case Op.ABOVE | Op.BELOW:
                return self._compares(found)

    def _compares(self, found: str | None) -> bool:
        (limit,) = self.values
        if found is None or not re.fullmatch(r"-?\d+", found):
            return False
        return int(found) > int(limit) if self.op is Op.ABOVE else int(found) < int(limit)


Selector: TypeAlias = tuple[Requirement, ...]

_KEY = r"[A-Za-z0-9](?:[-A-Za-z0-9_./]*[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[-A-Za-z0-9_.]*[A-Za-z0-9])?)?"
_FORMS = (
    re.compile(rf"(?P<key>{_KEY})"),
    re.compile(rf"(?P<op>!)\s*(?P<key>{_KEY})"),
    re.compile(rf"(?P<key>{_KEY})\s*(?P<op>==?|!=)\s*(?P<value>{_VALUE})"),
    re.compile(rf"(?P<key>{_KEY})\s+(?P<op>in|notin)\s*\((?P<set>\s*{_VALUE}\s*(?:,\s*{_VALUE}\s*)*)\)"),
    re.compile(rf"(?P<key>{_KEY})\s*(?P<op>[<>])\s*(?P<value>-?\d+)"),
)
_OPS = {"=": Op.IN, "==": Op.IN, "!=": Op.NOT_IN}


def parse_labels(text: str) -> Selector:
    """Read a label selector.

    >>> [str(need.op) for need in parse_labels("a=b, c notin (d,e),!f,g")]
    ['in', 'notin', '!', 'exists']

    Raises:
        ApiError: 400, worded as the real server does.
    """
    return tuple(_label_requirement(piece.strip(), text) for piece in _split_outside_brackets(text))


def _split_outside_brackets(text: str) -> list[str]:
    return re.split(r",(?![^(]*\))", text) if text.strip() else []


def _label_requirement(piece: str, whole: str) -> Requirement:
    found = next((match for form in _FORMS if (match := form.fullmatch(piece))), None)
    if found is None:
        raise bad_request(f"unable to parse requirement: found '{piece}' in label selector {whole!r}")
    groups = found.groupdict()
    word = groups.get("op")
    if word is None:
        return Requirement(groups["key"], Op.EXISTS)
    listed = groups.get("set")
    values = [groups.get("value") or ""] if listed is None else [item.strip() for item in listed.split(",")]
    return Requirement(groups["key"], _OPS.get(word) or Op(word), frozenset(values))


def match_labels(selector: Selector, found: Mapping[str, str]) -> bool:
    return all(need.matches(found.get(need.key)) for need in selector)


def parse_fields(text: str, resource: Resource) -> Selector:
    """Read a field selector; the keys of the result are paths into the object.

    Raises:
        ApiError: 400 for a malformed one and for fields which the resource does not support.
    """
    pieces = re.split(r"(?<!\\),", text) if text.strip() else []
    return tuple(_field_requirement(piece.strip(), text, resource) for piece in pieces)


def _field_requirement(piece: str, whole: str, resource: Resource) -> Requirement:
    found = re.fullmatch(r"([A-Za-z.]+)(==?|!=)(.*)", piece, re.DOTALL)
    if found is None:
        raise bad_request(f"invalid selector: '{piece}'; can't understand '{whole}'")
    label, word, value = found.groups()
    path = resource.fields.get(label)
    if path is None:
        raise _unsupported_field(resource, whole)
    return Requirement(path, _OPS[word], frozenset([re.sub(r"\\([\\,=])", r"\1", value)]))


def _unsupported_field(resource: Resource, whole: str) -> ApiError:
    return bad_request(
        f'Unable to find "{resource.group}/{resource.version}, Resource={resource.plural}" that match label '
        f'selector "", field selector "{whole}": field label not supported: {whole.partition("=")[0]}'
    )


def match_fields(selector: Selector, obj: JsonObject) -> bool:
    return all(need.matches(_value_at(obj, need.key)) for need in selector)


def _value_at(obj: JsonObject, path: str) -> str:
    found: object = obj
    for name in path.split("."):
        found = found.get(name) if isinstance(found, dict) else None
    if isinstance(found, bool):
        return str(found).lower()
    return "" if found is None else str(found)


@dataclass(frozen=True, slots=True)
class Filter:
    """What a list or a watch asks for."""

    namespace: str = ""
    labels: Selector = ()
    fields: Selector = ()

    def passes(self, obj: JsonObject) -> bool:
        return (
            (not self.namespace or obj["metadata"].get("namespace") == self.namespace)
            and match_labels(self.labels, labels_of(obj))
            and match_fields(self.fields, obj)
        )

    def pick(self, objects: Iterator[JsonObject]) -> list[JsonObject]:
        return [obj for obj in objects if self.passes(obj)]
