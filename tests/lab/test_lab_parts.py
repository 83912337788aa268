"""The kubelet's parts without processes: phases, statuses, variables, volumes, logs; and the history."""

from __future__ import annotations

import json
import threading
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

import pytest

from launchguard.lab.crilog import LONGEST_LINE, Entry, Excerpt, decode_entry
from launchguard.lab.history import History, read_history
from launchguard.lab.kube.pods import grace_for, terminating, with_defaults
from launchguard.lab.kube.tables import pod_word
from launchguard.lab.kubelet.containers import ContainerRecord, Running, Terminated, Waiting, phase
from launchguard.lab.kubelet.environment import ConfigError, argument_list, container_env
from launchguard.lab.kubelet.logfiles import LogFile, LogShelf
from launchguard.lab.kubelet.podstatus import Placement, pod_status
from launchguard.lab.kubelet.volumes import rewrite

if TYPE_CHECKING:
    from pathlib import Path

NOW = "2026-01-01T00:00:00Z"
WAITING, RUNNING = Waiting("ContainerCreating"), Running(NOW)
GOOD, BAD = Terminated(0, "Completed", NOW, NOW), Terminated(1, "Error", NOW, NOW)
PLACE = Placement("127.0.1.1", "10.244.0.2", NOW)


def record(state: Any, name: str = "base", *, init: bool = False, last: Any = None) -> ContainerRecord:
    return ContainerRecord({"name": name, "image": "i"}, state, init=init, last=last)


@pytest.mark.parametrize(
    ("policy", "init", "main", "expected"),
    [
        ("Never", [], [WAITING], "Pending"),
        ("Never", [], [RUNNING], "Running"),
        ("Never", [], [GOOD], "Succeeded"),
        ("Never", [], [BAD], "Failed"),
        ("Never", [], [GOOD, BAD], "Failed"),
        ("Never", [], [GOOD, RUNNING], "Running"),
        ("Never", [], [RUNNING, WAITING], "Pending"),
        ("Never", [RUNNING], [WAITING], "Pending"),
        ("Never", [BAD], [WAITING], "Failed"),
        ("OnFailure", [BAD], [WAITING], "Pending"),
        ("OnFailure", [], [BAD], "Running"),
        ("OnFailure", [], [GOOD], "Succeeded"),
        ("Always", [], [GOOD], "Running"),
    ],
)
def test_phases(policy: str, init: list[Any], main: list[Any], expected: str) -> None:
    assert phase(policy, [record(one, init=True) for one in init], [record(one) for one in main]) == expected


@pytest.mark.parametrize(
    ("policy", "main", "expected"),
    [("Never", [WAITING], "Failed"), ("Always", [GOOD], "Succeeded"), ("Always", [BAD], "Failed")],
)
def test_phases_of_pods_that_are_deleted(policy: str, main: list[Any], expected: str) -> None:
    assert phase(policy, [], [record(one) for one in main], terminal=True) == expected


def test_conditions_keep_their_time_while_they_stand() -> None:
    pod: dict[str, Any] = {"spec": {"restartPolicy": "Never"}, "status": {}}
    first = pod_status(pod, [record(WAITING)], PLACE, "t1")
    second = pod_status({**pod, "status": first}, [record(RUNNING)], PLACE, "t2")
    times = {one["type"]: one["lastTransitionTime"] for one in second["conditions"]}
    assert times["Initialized"] == "t1"
    assert times["Ready"] == "t2"


def test_conditions_of_others_stay() -> None:
    scheduled = {"type": "PodScheduled", "status": "True", "lastTransitionTime": "t0"}
    pod = {"spec": {"restartPolicy": "Never"}, "status": {"conditions": [scheduled]}}
    assert scheduled in pod_status(pod, [record(WAITING)], PLACE, "t1")["conditions"]


@pytest.mark.parametrize(
    ("spec", "status", "asked", "expected"),
    [
        ({"nodeName": "n"}, {}, None, 30),
        ({"nodeName": "n", "terminationGracePeriodSeconds": 5}, {}, None, 5),
        ({"nodeName": "n"}, {}, 7, 7),
        ({}, {}, 7, 0),
        ({"nodeName": "n"}, {"phase": "Failed"}, 7, 0),
    ],
)
def test_grace(spec: dict[str, Any], status: dict[str, Any], asked: int | None, expected: int) -> None:
    assert grace_for({"spec": spec, "status": status}, asked) == expected


def test_a_second_deletion_moves_the_time_forward_only() -> None:
    now = datetime(2026, 1, 1, tzinfo=UTC)
    first = terminating({"metadata": {"name": "p"}}, 30, now)
    assert first["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:30Z"
    assert terminating(first, 60, now) is first
    assert terminating(first, 10, now)["metadata"]["deletionTimestamp"] == "2026-01-01T00:00:10Z"


@pytest.mark.parametrize(
    ("resources", "expected"),
    [
        ({}, "BestEffort"),
        ({"requests": {"cpu": "1"}}, "Burstable"),
        ({"limits": {"cpu": "1", "memory": "1Gi"}}, "Guaranteed"),
    ],
)
def test_quality_of_service(resources: dict[str, Any], expected: str) -> None:
    pod = with_defaults({"metadata": {}, "spec": {"containers": [{"name": "c", "image": "i", "resources": resources}]}})
    assert pod["status"]["qosClass"] == expected


def test_image_pull_policies_follow_the_tag() -> None:
    images = ["a", "a:latest", "a:1", "host:5000/a", "host:5000/a:1"]
    spec = {"containers": [{"name": "c", "image": image} for image in images]}
    policies = [one["imagePullPolicy"] for one in with_defaults({"metadata": {}, "spec": spec})["spec"]["containers"]]
    assert policies == ["Always", "Always", "IfNotPresent", "Always", "IfNotPresent"]


POD = {"metadata": {"name": "p", "namespace": "n", "uid": "u", "annotations": {"a": "1"}}, "spec": {}}


def test_arguments_take_the_entrypoint_only_without_a_command() -> None:
    assert argument_list({"args": ["$(A)"]}, ["/entry"], {"A": "x"}) == ["/entry", "x"]
    assert argument_list({"command": ["c"], "args": ["a"]}, ["/entry"], {}) == ["c", "a"]


def test_missing_config_maps_are_told() -> None:
    container = {"env": [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "k"}}}]}
    with pytest.raises(ConfigError, match='configmap "cm" not found'):
        container_env(POD, container, {}, lambda _resource, _key: None)
    container["env"][0]["valueFrom"]["configMapKeyRef"]["optional"] = True  # type: ignore[index]
    assert container_env(POD, container, {}, lambda _resource, _key: None) == {"HOSTNAME": "p"}


def test_secrets_are_decoded() -> None:
    container = {"envFrom": [{"secretRef": {"name": "s"}, "prefix": "P_"}]}
    env = container_env(POD, container, {}, lambda _resource, _key: {"data": {"K": "dg=="}})
    assert env == {"HOSTNAME": "p", "P_K": "v"}


def test_all_annotations_at_once() -> None:
    container = {"env": [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.annotations"}}}]}
    assert container_env(POD, container, {}, lambda _resource, _key: None)["A"] == 'a="1"'


def test_longer_mount_paths_win() -> None:
    assert rewrite("/a/b/c /a/c", {"/a": "/x", "/a/b": "/y"}) == "/y/c /x/c"


def test_the_status_column() -> None:
    pod = {"metadata": {}, "status": {"phase": "Pending", "containerStatuses": [record(WAITING).shown()]}}
    assert pod_word(pod) == "ContainerCreating"
    pod["status"]["initContainerStatuses"] = [record(BAD, init=True).shown()]
    assert pod_word(pod) == "Init:Error"
    pod["status"]["initContainerStatuses"] = [record(Running(NOW), init=True).shown()]
    assert pod_word(pod) == "Init:0/1"
    pod["metadata"] = {"deletionTimestamp": NOW}
    assert pod_word(pod) == "Terminating"


def test_log_entries_read_back(tmp_path: Path) -> None:
    log = LogFile(tmp_path / "0.log")
    log.feed(b"one\ntw")
    log.feed(b"o\n\n" + b"x" * (LONGEST_LINE + 1) + b"\nrest")
    log.finish()
    entries = [entry for entry, _ in log.entries()]
    assert [entry.text for entry in entries[:3]] == [b"one", b"two", b""]
    assert [len(entry.text) for entry in entries[3:]] == [LONGEST_LINE, 1, 4]
    assert [entry.partial for entry in entries] == [False, False, False, True, False, True]
    assert decode_entry(entries[0].encode()) == entries[0]


def lines(*texts: str) -> list[Entry]:
    return [Entry(f"2026-01-01T00:00:0{place}.000000000Z", text.encode()) for place, text in enumerate(texts)]


@pytest.mark.parametrize(
    ("excerpt", "expected"),
    [
        (Excerpt(), ["a", "b", "c"]),
        (Excerpt(tail=2), ["b", "c"]),
        (Excerpt(tail=9), ["a", "b", "c"]),
        (Excerpt(tail=0), []),
        (Excerpt(since=datetime(2026, 1, 1, 0, 0, 1, tzinfo=UTC)), ["b", "c"]),
    ],
)
def test_excerpts(excerpt: Excerpt, expected: list[str]) -> None:
    assert [entry.text.decode() for entry in excerpt.choose(lines("a", "b", "c"))] == expected


def test_parts_of_a_line_count_once() -> None:
    entries = [*lines("a"), Entry("2026-01-01T00:00:01Z", b"b1", partial=True), Entry("2026-01-01T00:00:01Z", b"b2")]
    assert [entry.text for entry in Excerpt(tail=1).choose(entries)] == [b"b1", b"b2"]


def test_the_shelf_keeps_every_run(tmp_path: Path) -> None:
    shelf = LogShelf(tmp_path)
    first, second = shelf.open("n_p", "u", "c"), shelf.open("n_p", "u", "c")
    assert shelf.find("u", "c") is second
    assert shelf.find("u", "c", previous=True) is first
    assert shelf.find("other", "c") is None
    for log in (first, second):
        log.finish()


def test_several_threads_and_writers_append_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    writers = [History(path, name) for name in ("a", "b")]

    def write(writer: History) -> None:
        for number in range(200):
            writer.record("note", number=number, text="x" * 300)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in writers for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for writer in writers:
        writer.close()
    entries = list(read_history(path))
    for source in ("a", "b"):
        own = [entry for entry in entries if entry["src"] == source]
        assert [entry["seq"] for entry in own] == list(range(1, 402))
        assert [entry["t"] for entry in own] == sorted(entry["t"] for entry in own)


def test_a_line_that_was_cut_short_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    with History(path, "a") as history:
        history.record("note")
    path.write_bytes(path.read_bytes() + json.dumps({"kind": "half"}).encode()[:-3])
    assert [entry["kind"] for entry in read_history(path)] == ["start", "note"]
    history.record("too late")
