"""The store and its parts without HTTP: versions, windows, selectors, patches, the shape of a watch."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from typing import Any

import pytest

from launchguard import lab
from launchguard.lab.kube.changelog import Change, ChangeLog, ChangeType
from launchguard.lab.kube.forms import Form, wanted_form
from launchguard.lab.kube.objects import Identities, Key
from launchguard.lab.kube.patches import apply_patch
from launchguard.lab.kube.requests import parse_target
from launchguard.lab.kube.resources import CONFIGMAPS, EVENTS, NAMESPACES, PODS
from launchguard.lab.kube.selectors import Filter, match_fields, match_labels, parse_fields, parse_labels
from launchguard.lab.kube.shaping import Shaper, WatchEvent
from launchguard.lab.kube.status import ApiError
from launchguard.lab.kube.store import Store
from launchguard.lab.kube.watching import seen_through


def thing(name: str, **labels: str) -> dict[str, Any]:
    return {"metadata": {"name": name, "namespace": "default", "labels": labels}, "data": {}}


def test_versions_rise_across_resources_and_objects_stay_as_handed_out() -> None:
    store = Store()
    first = store.insert(CONFIGMAPS, thing("a"))
    second = store.insert(PODS, thing("b"))
    third = store.replace(CONFIGMAPS, {**first, "data": {"k": "v"}})
    versions = [int(one["metadata"]["resourceVersion"]) for one in (first, second, third)]
    assert versions == sorted(set(versions))
    assert first["data"] == {}
    assert store.get(CONFIGMAPS, Key("default", "a")) is third


def test_replacing_needs_the_version_that_was_expected() -> None:
    store = Store()
    made = store.insert(CONFIGMAPS, thing("a"))
    old = int(made["metadata"]["resourceVersion"])
    store.replace(CONFIGMAPS, {**made, "data": {"k": "1"}}, expected=old)
    with pytest.raises(ApiError, match="object has been modified"):
        store.replace(CONFIGMAPS, {**made, "data": {"k": "2"}}, expected=old)


def test_no_change_makes_no_version() -> None:
    store = Store()
    made = store.insert(CONFIGMAPS, thing("a"))
    assert store.replace(CONFIGMAPS, {**made, "metadata": {**made["metadata"]}}) is made


def test_listeners_see_every_change_once() -> None:
    store, seen = Store(), []
    store.on_commit(lambda resource, change: seen.append((resource, change.type, change.version)))
    store.insert(CONFIGMAPS, thing("a"))
    store.remove(CONFIGMAPS, Key("default", "a"))
    assert [(resource, kind) for resource, kind, _ in seen] == [(CONFIGMAPS, "ADDED"), (CONFIGMAPS, "DELETED")]
    assert seen[0][2] < seen[1][2] == store.version


def change(version: int) -> Change:
    return Change(ChangeType.ADDED, version, thing(str(version)))


def test_the_window_keeps_the_newest() -> None:
    log = ChangeLog(3)
    for version in range(1, 8):
        log.append(change(version))
    assert [one.version for one in log.since(log.floor)] == [5, 6, 7]
    assert log.since(7) == []
    with pytest.raises(ApiError, match=r"too old resource version: 3 \(4\)") as error:
        log.since(3)
    assert error.value.status()["reason"] == "Expired"


def test_compaction_raises_the_floor_even_of_an_idle_log() -> None:
    log = ChangeLog(3)
    log.compact(10)
    with pytest.raises(ApiError):
        log.since(9)
    assert log.since(10) == []


@pytest.mark.parametrize(
    ("selector", "hit"),
    [
        ("", True),
        ("a=1", True),
        ("a==1", True),
        ("a!=1", False),
        ("missing!=1", True),
        ("a in (1, 2)", True),
        ("a notin (1,2)", False),
        ("missing notin (1)", True),
        ("a", True),
        ("!a", False),
        ("! missing", True),
        ("a > 0", True),
        ("a<1", False),
        ("missing>0", False),
        ("empty=", True),
        ("example.com/x=y", True),
        ("a=1,missing", False),
    ],
)
def test_label_selectors(selector: str, hit: bool) -> None:
    labels = {"a": "1", "empty": "", "example.com/x": "y"}
    assert match_labels(parse_labels(selector), labels) is hit


@pytest.mark.parametrize("selector", ["a=b=c", "a in b", "=x", "a in (b", "a b", "a=b,,c"])
def test_bad_label_selectors(selector: str) -> None:
    with pytest.raises(ApiError) as error:
        parse_labels(selector)
    assert error.value.code == 400


@pytest.mark.parametrize(
    ("selector", "hit"),
    [
        ("metadata.name=x", True),
        ("metadata.name!=x", False),
        ("involvedObject.name=pod-1,reason=Started", True),
        ("source=kubelet", True),
        ("type=", True),
    ],
)
def test_field_selectors(selector: str, hit: bool) -> None:
    event = {
        "metadata": {"name": "x"},
        "involvedObject": {"name": "pod-1"},
        "reason": "Started",
        "source": {"component": "kubelet"},
    }
    assert match_fields(parse_fields(selector, EVENTS), event) is hit


MODIFY = [
    ((True, True), "MODIFIED"),
    ((True, False), "DELETED"),
    ((False, True), "ADDED"),
    ((False, False), None),
]


@pytest.mark.parametrize(("passes", "expected"), MODIFY)
def test_a_change_through_a_selector(passes: tuple[bool, bool], expected: str | None) -> None:
    before, after = (thing("a", shown=str(one)) for one in passes)
    event = seen_through(Filter("", parse_labels("shown=True")), Change(ChangeType.MODIFIED, 9, after, before))
    assert (event and event.type) == expected
    if expected == "DELETED":
        assert event is not None
        assert event.object["metadata"]["labels"] == {"shown": "True"}
        assert event.object["metadata"]["resourceVersion"] == "9"


POD = {
    "metadata": {"labels": {"a": "1"}, "finalizers": ["x", "y"]},
    "spec": {
        "containers": [
            {"name": "base", "image": "old", "env": [{"name": "A", "value": "1"}, {"name": "B", "value": "2"}]},
            {"name": "side", "image": "s"},
        ],
        "tolerations": [{"key": "t"}],
    },
}


def strategic(patch: dict[str, Any]) -> dict[str, Any]:
    return apply_patch(POD, patch, "application/strategic-merge-patch+json")


def test_strategic_patches_merge_named_lists() -> None:
    patched = strategic(
        {"spec": {"containers": [{"name": "base", "image": "new", "env": [{"name": "B", "value": "3"}]}]}}
    )
    base, side = patched["spec"]["containers"]
    assert (base["image"], side["image"]) == ("new", "s")
    assert base["env"] == [{"name": "A", "value": "1"}, {"name": "B", "value": "3"}]
    assert POD["spec"]["containers"][0]["image"] == "old"


@pytest.mark.parametrize(
    ("patch", "path", "expected"),
    [
        ({"metadata": {"labels": {"a": None, "b": "2"}}}, ("metadata", "labels"), {"b": "2"}),
        ({"metadata": {"labels": {"$patch": "replace", "c": "3"}}}, ("metadata", "labels"), {"c": "3"}),
        ({"metadata": {"labels": {"$patch": "delete"}}}, ("metadata", "labels"), {}),
        ({"metadata": {"finalizers": ["z"]}}, ("metadata", "finalizers"), ["x", "y", "z"]),
        ({"metadata": {"$deleteFromPrimitiveList/finalizers": ["x"]}}, ("metadata", "finalizers"), ["y"]),
        ({"spec": {"tolerations": [{"key": "u"}]}}, ("spec", "tolerations"), [{"key": "u"}]),
        (
            {"spec": {"containers": [{"name": "base", "$patch": "delete"}]}},
            ("spec", "containers"),
            [{"name": "side", "image": "s"}],
        ),
        (
            {"spec": {"containers": [{"$patch": "replace"}, {"name": "n"}]}},
            ("spec", "containers"),
            [{"name": "n"}],
        ),
    ],
)
def test_strategic_directives(patch: dict[str, Any], path: tuple[str, str], expected: Any) -> None:
    assert strategic(patch)[path[0]][path[1]] == expected


def test_strategic_order() -> None:
    patch = {"spec": {"$setElementOrder/containers": [{"name": "side"}, {"name": "base"}], "containers": []}}
    assert [one["name"] for one in strategic(patch)["spec"]["containers"]] == ["side", "base"]


def test_merge_patches_replace_lists() -> None:
    patched = apply_patch(POD, {"spec": {"containers": [{"name": "n"}]}}, "application/merge-patch+json")
    assert patched["spec"]["containers"] == [{"name": "n"}]


@pytest.mark.parametrize(
    ("patch", "kind", "code"),
    [
        ({}, "application/apply-patch+yaml", 415),
        ({}, "application/json-patch+json", 400),
        ([], "application/merge-patch+json", 400),
        ([{"op": "remove", "path": "/none"}], "application/json-patch+json", 422),
        ([{"op": "test", "path": "/metadata/labels/a", "value": "2"}], "application/json-patch+json", 422),
    ],
)
def test_patches_that_do_not_fit(patch: Any, kind: str, code: int) -> None:
    with pytest.raises(ApiError) as error:
        apply_patch(POD, patch, kind)
    assert error.value.code == code


@pytest.mark.parametrize(
    ("method", "path", "query", "expected"),
    [
        ("GET", "/api/v1/pods", {}, ("list", PODS, "", "", "")),
        ("GET", "/api/v1/namespaces/n/pods", {"watch": "true"}, ("watch", PODS, "n", "", "")),
        ("GET", "/api/v1/namespaces/n/pods/p", {}, ("get", PODS, "n", "p", "")),
        ("PATCH", "/api/v1/namespaces/n/pods/p/status", {}, ("patch", PODS, "n", "p", "status")),
        ("POST", "/api/v1/namespaces/n/pods/p/eviction", {}, ("create", PODS, "n", "p", "eviction")),
        ("DELETE", "/api/v1/namespaces/n/pods", {}, ("deletecollection", PODS, "n", "", "")),
        ("GET", "/api/v1/namespaces/n", {}, ("get", NAMESPACES, "", "n", "")),
        ("PUT", "/api/v1/namespaces/n/status", {}, ("update", NAMESPACES, "", "n", "status")),
    ],
)
def test_paths(method: str, path: str, query: dict[str, str], expected: tuple[Any, ...]) -> None:
    target = parse_target(method, path, query)
    assert target is not None
    assert (target.verb, target.resource, target.namespace, target.name, target.subresource) == expected


@pytest.mark.parametrize(
    ("method", "path", "code"),
    [
        ("GET", "/api/v1/namespaces/n/jobs", 404),
        ("GET", "/api/v1/namespaces/n/pods/p/exec", 404),
        ("GET", "/apis/batch/v1/jobs", 404),
        ("POST", "/api/v1/pods", 405),
        ("POST", "/api/v1/namespaces/n/pods/p", 405),
        ("DELETE", "/api/v1/namespaces/n/pods/p/log", 405),
    ],
)
def test_paths_that_are_not_served(method: str, path: str, code: int) -> None:
    with pytest.raises(ApiError) as error:
        parse_target(method, path, {})
    assert error.value.code == code


@pytest.mark.parametrize(
    ("accept", "form"),
    [
        ("", Form.FULL),
        ("application/json, */*", Form.FULL),
        ("application/vnd.kubernetes.protobuf,application/json", Form.FULL),
        ("application/json;as=Table;v=v1;g=meta.k8s.io,application/json", Form.TABLE),
        ("application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json", Form.FULL),
        ("application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io", Form.PARTIAL_LIST),
    ],
)
def test_forms(accept: str, form: Form) -> None:
    assert wanted_form(accept) is form


def test_a_client_that_takes_no_json() -> None:
    with pytest.raises(ApiError) as error:
        wanted_form("application/vnd.kubernetes.protobuf")
    assert error.value.code == 406


def event(name: str) -> WatchEvent:
    return WatchEvent("ADDED", thing(name))


def popped(shaper: Shaper, now: float) -> list[str]:
    return [one.object["metadata"]["name"] for one in shaper.pop_due(now)]


def test_a_delay_holds_up_what_comes_behind() -> None:
    shaper = Shaper()
    shaper.push(event("a"), 0, delay=5)
    shaper.push(event("b"), 1)
    assert popped(shaper, 4) == []
    assert shaper.next_due() == 5
    assert popped(shaper, 5) == ["a", "b"]
    assert shaper.empty


def test_a_held_event_goes_behind_the_next_or_alone_in_the_end() -> None:
    shaper = Shaper()
    shaper.hold(event("a"), 0, at_most=3)
    shaper.push(event("b"), 1)
    assert popped(shaper, 1) == ["b", "a"]
    shaper.hold(event("c"), 2, at_most=3)
    assert popped(shaper, 4) == []
    assert shaper.next_due() == 5
    assert popped(shaper, 5) == ["c"]


def test_copies() -> None:
    shaper = Shaper()
    shaper.push(event("a"), 0, copies=2)
    assert popped(shaper, 0) == ["a", "a"]


def test_identities_replay() -> None:
    one, two, other = Identities(1), Identities(1), Identities(2)
    assert [one.uid(), one.suffix()] == [two.uid(), two.suffix()]
    assert one.uid() != other.uid()


MODULES = [found.name for found in pkgutil.walk_packages(lab.__path__, "launchguard.lab.")]


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_in_docstrings(name: str) -> None:
    assert doctest.testmod(importlib.import_module(name)).failed == 0
