"""What a request asks for, in the words of Kubernetes: verb, resource, namespace, name, subresource."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from launchguard.lab.kube.resources import Resource, find_resource
from launchguard.lab.kube.status import bad_request, method_not_allowed, unknown_path

if TYPE_CHECKING:
    from collections.abc import Mapping

_NAMED_VERBS: Final = {
    "GET": "get",
    "HEAD": "get",
    "POST": "create",
    "PUT": "update",
    "PATCH": "patch",
    "DELETE": "delete",
}
_BARE_VERBS: Final = {"GET": "list", "HEAD": "list", "POST": "create", "DELETE": "deletecollection"}
_TRUE: Final = frozenset({"1", "t", "true", "True", "TRUE"})


@dataclass(frozen=True, slots=True)
class Target:
    """A request for a resource."""

    verb: str
    resource: Resource
    namespace: str = ""
    name: str = ""
    subresource: str = ""


def is_true(query: Mapping[str, str], name: str) -> bool:
    return query.get(name, "") in _TRUE


def whole_number(query: Mapping[str, str], name: str) -> int | None:
    """Read a number from the query.

    Raises:
        ApiError: 400, it is none.
    """
    text = query.get(name, "")
    if not text:
        return None
    if not text.isdecimal():
        raise bad_request(f'invalid value for {name}: strconv.ParseInt: parsing "{text}": invalid syntax')
    return int(text)


def parse_target(method: str, path: str, query: Mapping[str, str]) -> Target | None:
    """Read the path of a resource; None for other paths, such as discovery.

    Raises:
        ApiError: 404 for a resource or subresource that is not served, 405 for a verb that it does not have.
    """
    parts = [piece for piece in path.split("/") if piece]
    match parts:
        case ["api", "v1", *rest] if rest:
            return _resource_target(method, "", "v1", rest, query)
        case ["apis", group, version, *rest] if rest:
            return _resource_target(method, group, version, rest, query)
        case _:
            return None


def _resource_target(method: str, group: str, version: str, parts: list[str], query: Mapping[str, str]) -> Target:
    namespace = ""
    # Below a namespace stands either a resource in it, or a subresource of the namespace object.
    if len(parts) > 2 and parts[0] == "namespaces" and find_resource(group, version, parts[2]):  # noqa: PLR2004
        namespace, parts = parts[1], parts[2:]
    plural, name, subresource = (*parts, "", "")[:3]
    resource = find_resource(group, version, plural)
    known = resource is not None and (not subresource or resource.subresource(subresource) is not None)
    if resource is None or not known or len(parts) > 3:  # noqa: PLR2004  name and subresource at most
        raise unknown_path()
    target = Target(_verb(method, name, query), resource, namespace, name, subresource)
    _check_verb(target)
    return target


def _verb(method: str, name: str, query: Mapping[str, str]) -> str:
    if method == "GET" and not name and is_true(query, "watch"):
        return "watch"
    verb = (_NAMED_VERBS if name else _BARE_VERBS).get(method)
    if verb is None:
        raise method_not_allowed()
    return verb


def _check_verb(target: Target) -> None:
    sub = target.resource.subresource(target.subresource)
    served = target.resource.verbs if sub is None else sub.verbs
    across = target.resource.namespaced and not target.namespace and target.verb not in {"list", "watch"}
    onto_itself = target.verb == "create" and target.name and sub is None
    if target.verb not in served or across or onto_itself:
        raise method_not_allowed()
