"""What the server says about itself: groups, resources, version, and the little of OpenAPI that kubectl reads."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from launchguard.lab.kube.resources import RESOURCES

if TYPE_CHECKING:
    from launchguard.lab.kube.objects import JsonObject
    from launchguard.lab.kube.resources import Resource, Subresource

_VERSION: Final[JsonObject] = {
    "major": "1",
    "minor": "36",
    "gitVersion": "v1.36.0+launchguard-lab",
    "gitCommit": "",
    "gitTreeState": "clean",
    "buildDate": "2026-04-22T00:00:00Z",
    "goVersion": "",
    "compiler": "",
    "platform": "linux/amd64",
}


def discover(path: str) -> JsonObject | None:
    """Answer a path of discovery in its legacy, unaggregated form; None where there is no such path.

    Clients that ask for the aggregated form see from the content type that they did not get it, and fall back.
    """
    match [piece for piece in path.split("/") if piece]:
        case ["version"]:
            return _VERSION
        case ["api"]:
            return {"kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": []}
        case ["api", "v1"]:
            return _resource_list("", "v1")
        case ["apis", *rest]:
            return _discover_groups(rest)
        case ["openapi", "v3", *rest]:
            return _discover_openapi("/".join(rest))
        case _:
            return None


def _discover_groups(rest: list[str]) -> JsonObject | None:
    match rest:
        case []:
            groups = [_group(name, version) for name, version in _groups()]
            return {"kind": "APIGroupList", "apiVersion": "v1", "groups": groups}
        case [name]:
            return next((_alone(*found) for found in _groups() if found[0] == name), None)
        case [name, version] if (name, version) in _groups():
            return _resource_list(name, version)
        case _:
            return None


def _discover_openapi(rest: str) -> JsonObject | None:
    roots = {_root(*found): found for found in [("", "v1"), *_groups()]}
    if not rest:
        return {"paths": {root: {"serverRelativeURL": f"/openapi/v3/{root}"} for root in roots}}
    return _openapi(*roots[rest]) if rest in roots else None


def _groups() -> list[tuple[str, str]]:
    return sorted({(res.group, res.version) for res in RESOURCES if res.group})


def _root(group: str, version: str) -> str:
    return f"apis/{group}/{version}" if group else f"api/{version}"


def _group(name: str, version: str) -> JsonObject:
    known = {"groupVersion": f"{name}/{version}", "version": version}
    return {"name": name, "versions": [known], "preferredVersion": known}


def _alone(name: str, version: str) -> JsonObject:
    return {"kind": "APIGroup", "apiVersion": "v1", **_group(name, version)}


def _resource_list(group: str, version: str) -> JsonObject:
    served = [res for res in RESOURCES if (res.group, res.version) == (group, version)]
    entries = [entry for res in served for entry in (_entry(res), *(_sub_entry(res, sub) for sub in res.subresources))]
    named = f"{group}/{version}" if group else version
    return {"kind": "APIResourceList", "apiVersion": "v1", "groupVersion": named, "resources": entries}


def _entry(resource: Resource) -> JsonObject:
    entry: JsonObject = {
        "name": resource.plural,
        "singularName": resource.singular,
        "namespaced": resource.namespaced,
        "kind": resource.kind,
        "verbs": list(resource.verbs),
    }
    if resource.short_names:
        entry["shortNames"] = list(resource.short_names)
    if resource.categories:
        entry["categories"] = list(resource.categories)
    return entry


def _sub_entry(resource: Resource, sub: Subresource) -> JsonObject:
    entry: JsonObject = {
        "name": f"{resource.plural}/{sub.name}",
        "singularName": "",
        "namespaced": resource.namespaced,
        "kind": sub.kind,
        "verbs": list(sub.verbs),
    }
    return entry | ({"group": sub.group, "version": sub.version} if sub.group else {})


def _openapi(group: str, version: str) -> JsonObject:
    """Tell, in OpenAPI's words, that writes take `fieldValidation`: all that kubectl wants to know before it writes."""
    parameter = {"name": "fieldValidation", "in": "query", "schema": {"type": "string"}}
    paths: JsonObject = {}
    for res in RESOURCES:
        if (res.group, res.version) == (group, version):
            inner = "namespaces/{namespace}/" if res.namespaced else ""
            kind = {"group": group, "version": version, "kind": res.kind}
            write = {"parameters": [parameter], "x-kubernetes-group-version-kind": kind, "responses": {}}
            paths[f"/{_root(group, version)}/{inner}{res.plural}"] = {"post": write}
            paths[f"/{_root(group, version)}/{inner}{res.plural}/{{name}}"] = {"patch": write, "put": write}
    info = {"title": "Kubernetes", "version": _VERSION["gitVersion"]}
    return {"openapi": "3.0.0", "info": info, "paths": paths, "components": {"schemas": {}}}
