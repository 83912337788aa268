"""The kubelet stand-in: pods as real processes, and what it writes about them, seen through the real client."""

from __future__ import annotations

import json
import os
from typing import Any

import pytest
from kubernetes.client.exceptions import ApiException
from lab_cluster import Cluster, Watching, cluster_in, fast, pod, terminated, waiting_reason

from launchguard.lab.kubelet.images import LocalImage
from launchguard.lab.kubelet.settings import KubeletSettings
from launchguard.lab.plan import Cordon, Drain, KillForMemory, NodePressure
from launchguard.lab.sessions import session_members


def logs(cluster: Cluster, name: str = "one", **query: Any) -> str:
    # Without `_preload_content=False` the client (36) gives the text of a bytes literal.
    answer = cluster.core.read_namespaced_pod_log(name, "default", _preload_content=False, **query)
    return answer.data.decode()


def condition(found: dict, kind: str) -> tuple[str, str]:
    (one,) = [each for each in found["status"]["conditions"] if each["type"] == kind]
    return one["status"], one.get("reason", "")


def started_pid(cluster: Cluster) -> int:
    return cluster.history("process.start")[-1]["pid"]


def test_a_pod_runs_to_success(cluster: Cluster) -> None:
    cluster.create(pod("one", "echo out; echo err >&2"))
    seen = cluster.until("one", lambda event: event["object"]["status"]["phase"] == "Succeeded")
    assert [event["type"] for event in seen] == ["ADDED", *["MODIFIED"] * (len(seen) - 1)]
    done = seen[-1]["object"]
    assert terminated(done)["exitCode"] == 0
    assert terminated(done)["reason"] == "Completed"
    assert terminated(done)["startedAt"] <= terminated(done)["finishedAt"]
    assert condition(done, "PodScheduled") == ("True", "")
    assert condition(done, "Initialized") == ("True", "PodCompleted")
    assert condition(done, "Ready") == ("False", "PodCompleted")
    assert done["status"]["podIP"]
    assert done["status"]["hostIP"]
    assert done["spec"]["nodeName"] == "lab-node-1"
    assert sorted(logs(cluster).splitlines()) == ["err", "out"]


def test_a_running_pod_looks_like_one(cluster: Cluster) -> None:
    cluster.create(pod("one", "exec sleep 60"))
    running = cluster.until_phase("one", "Running")
    (status,) = running["status"]["containerStatuses"]
    assert status["state"]["running"]["startedAt"]
    assert (status["ready"], status["started"], status["restartCount"]) == (True, True, 0)
    assert condition(running, "Ready") == ("True", "")
    assert os.getsid(started_pid(cluster)) == started_pid(cluster)


@pytest.mark.parametrize(("script", "code"), [("exit 3", 3), ("kill -9 $$$$", 137), ("kill -TERM $$$$", 143)])
def test_a_pod_fails_with_the_code_of_its_process(cluster: Cluster, script: str, code: int) -> None:
    # Kubernetes makes one dollar sign of two.
    cluster.create(pod("one", script))
    failed = cluster.until_phase("one", "Failed")
    assert (terminated(failed)["exitCode"], terminated(failed)["reason"]) == (code, "Error")
    assert condition(failed, "Ready") == ("False", "PodFailed")


def test_a_program_that_is_not_there(cluster: Cluster) -> None:
    body = pod("one")
    body["spec"]["containers"][0]["command"] = ["no-such-program"]
    cluster.create(body)
    failed = cluster.until_phase("one", "Failed")
    assert (terminated(failed)["exitCode"], terminated(failed)["reason"]) == (128, "StartError")


def test_an_image_that_is_not_there(make_cluster) -> None:
    cluster = make_cluster(images={"lab/other:*": LocalImage()})
    cluster.create(pod("one"))
    assert cluster.until_waiting("one", "ErrImagePull")["status"]["phase"] == "Pending"
    assert cluster.until_waiting("one", "ImagePullBackOff")["status"]["phase"] == "Pending"
    events = cluster.core.list_namespaced_event("default", field_selector="involvedObject.name=one,reason=Failed")
    assert any("Failed to pull image" in event.message for event in events.items)


def test_images_bring_their_environment(make_cluster) -> None:
    image = LocalImage(env={"PATH": os.environ["PATH"], "A": "image", "B": "image"}, entrypoint=("sh", "-c"))
    cluster = make_cluster(images={"lab/any:*": image})
    body = pod("one")
    body["spec"]["containers"][0] |= {
        "command": None,
        "args": ["echo $A $B $HOME-"],
        "env": [{"name": "B", "value": "pod"}],
    }
    cluster.create(body)
    cluster.until_phase("one", "Succeeded")
    assert logs(cluster) == "image pod -\n"


def test_variables_come_from_the_pod_and_from_config_maps(cluster: Cluster) -> None:
    cluster.core.create_namespaced_config_map("default", {"metadata": {"name": "cm"}, "data": {"k": "v"}})
    body = pod("one", 'echo "$NAME|$NS|$NOTE|$NODE|$KEY|$REF|$HOSTNAME|$UID_OF"')
    body["metadata"]["annotations"] = {"dag_id": "d"}

    def field(name: str, path: str) -> dict:
        return {"name": name, "valueFrom": {"fieldRef": {"fieldPath": path}}}

    body["spec"]["containers"][0]["env"] = [
        field("NAME", "metadata.name"),
        field("NS", "metadata.namespace"),
        field("NOTE", "metadata.annotations['dag_id']"),
        field("NODE", "spec.nodeName"),
        field("UID_OF", "metadata.uid"),
        {"name": "KEY", "valueFrom": {"configMapKeyRef": {"name": "cm", "key": "k"}}},
        {"name": "REF", "value": "$(NAME)-$(NOWHERE)"},
    ]
    uid = cluster.create(body).metadata.uid
    cluster.until_phase("one", "Succeeded")
    assert logs(cluster) == f"one|default|d|lab-node-1|v|one-$(NOWHERE)|one|{uid}\n"


def test_a_config_map_may_come_later(cluster: Cluster) -> None:
    body = pod("one")
    body["spec"]["containers"][0]["envFrom"] = [{"configMapRef": {"name": "late"}}]
    cluster.create(body)
    cluster.until_waiting("one", "CreateContainerConfigError")
    cluster.core.create_namespaced_config_map("default", {"metadata": {"name": "late"}, "data": {"k": "v"}})
    cluster.until_phase("one", "Succeeded")


def test_containers_share_a_volume_and_init_containers_come_first(cluster: Cluster) -> None:
    mount = [{"name": "shared", "mountPath": "/airflow/xcom"}]
    body = pod("one", "cat /airflow/xcom/first", volumes=[{"name": "shared", "emptyDir": {}}])
    body["spec"]["containers"][0]["volumeMounts"] = mount
    body["spec"]["initContainers"] = [
        {
            "name": "prepare",
            "image": "i",
            "command": ["sh", "-c", "echo made > /airflow/xcom/first"],
            "volumeMounts": mount,
        }
    ]
    cluster.create(body)
    done = cluster.until_phase("one", "Succeeded", "Failed")
    assert logs(cluster, container="base") == "made\n"
    (init,) = done["status"]["initContainerStatuses"]
    assert init["ready"]
    assert init["state"]["terminated"]["reason"] == "Completed"


def test_a_failed_init_container_fails_the_pod(cluster: Cluster) -> None:
    body = pod("one", initContainers=[{"name": "prepare", "image": "i", "command": ["false"]}])
    cluster.create(body)
    failed = cluster.until_phase("one", "Failed")
    assert waiting_reason(failed) == "PodInitializing"
    assert condition(failed, "Initialized") == ("False", "ContainersNotInitialized")
    assert [entry["container"] for entry in cluster.history("process.start")] == ["prepare"]


def test_a_pod_with_two_containers_ends_when_both_have(cluster: Cluster) -> None:
    body = pod("one", "exit 1")
    body["spec"]["containers"].append({"name": "sidecar", "image": "i", "command": ["sh", "-c", "exec sleep 60"]})
    cluster.create(body)
    seen = cluster.until("one", lambda event: len(ready_words(event["object"])) == 2)
    assert seen[-1]["object"]["status"]["phase"] == "Running"
    assert cluster.delete("one")[-1]["object"]["status"]["phase"] == "Failed"


def ready_words(found: dict) -> set[str]:
    statuses = found["status"].get("containerStatuses") or []
    return {next(iter(one["state"])) for one in statuses} & {"running", "terminated"}


def test_on_failure_restarts_and_keeps_the_log_of_before(cluster: Cluster) -> None:
    counter = "n=$(cat n 2>/dev/null); n=$((n+1)); echo $n > n; echo run $n; test $n = 3"
    body = pod("one", counter, restartPolicy="OnFailure")
    body["spec"]["containers"][0]["workingDir"] = str(cluster.folder)
    cluster.create(body)
    done = cluster.until_phase("one", "Succeeded")
    (status,) = done["status"]["containerStatuses"]
    assert status["restartCount"] == 2
    assert status["lastState"]["terminated"]["exitCode"] == 1
    assert (logs(cluster), logs(cluster, previous=True)) == ("run 3\n", "run 2\n")


def test_deletion_asks_first_and_the_process_may_end_well(cluster: Cluster) -> None:
    cluster.create(pod("one", "trap 'echo bye; exit 0' TERM; echo up; while :; do sleep 0.02; done"))
    cluster.until_phase("one", "Running")
    follow_until(cluster, "up")
    seen = cluster.delete("one")
    told = [
        (one["type"], one["object"]["status"]["phase"], "deletionTimestamp" in one["object"]["metadata"])
        for one in seen
    ]
    assert told == [
        ("MODIFIED", "Running", True),
        ("MODIFIED", "Succeeded", True),
        ("MODIFIED", "Succeeded", True),
        ("DELETED", "Succeeded", True),
    ]
    assert [one["object"]["metadata"].get("deletionGracePeriodSeconds") for one in seen] == [5, 5, 0, 0]


def follow_until(cluster: Cluster, line: str) -> None:
    answer = cluster.core.read_namespaced_pod_log("one", "default", follow=True, _preload_content=False)
    for piece in answer.stream():
        if line in piece.decode():
            answer.close()
            return


def test_a_process_that_ignores_the_request_is_killed_with_all_its_children(cluster: Cluster) -> None:
    script = "trap '' TERM; sh -c 'trap \"\" TERM; sleep 60' & echo up; while :; do sleep 0.05; done"
    cluster.create(pod("one", script))
    follow_after_running(cluster)
    pid = started_pid(cluster)
    assert len(session_members(pid)) >= 2
    gone = cluster.delete("one", grace_period_seconds=1)[-1]["object"]
    assert terminated(gone)["exitCode"] == 137
    signals = [entry["signal"] for entry in cluster.history("process.signal")]
    assert signals == ["SIGTERM", "SIGKILL"]
    assert session_members(pid) == []


def follow_after_running(cluster: Cluster) -> None:
    cluster.until_phase("one", "Running")
    follow_until(cluster, "up")


def test_a_forced_deletion_kills_at_once(cluster: Cluster) -> None:
    cluster.create(pod("one", "trap '' TERM; echo up; while :; do sleep 0.05; done"))
    follow_after_running(cluster)
    pid = started_pid(cluster)
    cluster.core.delete_namespaced_pod("one", "default", grace_period_seconds=0)
    with pytest.raises(ApiException):
        cluster.core.read_namespaced_pod("one", "default")
    cluster.running.wait(nothing_runs(cluster))
    assert session_members(pid) == []


async def nothing_runs(cluster: Cluster) -> None:
    await cluster.running.standin.kubelet.stop()


def test_a_pod_that_waits_is_gone_without_a_process(cluster: Cluster) -> None:
    cluster.arm("slow-start", params={"seconds": 60})
    cluster.create(pod("one"))
    cluster.until_waiting("one", "ContainerCreating")
    gone = cluster.delete("one")[-1]["object"]
    assert gone["status"]["phase"] == "Failed"
    assert cluster.history("process.start") == []


def test_a_pod_without_a_node_goes_at_once(cluster: Cluster) -> None:
    cluster.running.execute(Cordon(node="lab-node-1"))
    cluster.create(pod("one"))
    seen = cluster.until("one", lambda event: bool(event["object"]["status"].get("conditions")))
    assert condition(seen[-1]["object"], "PodScheduled") == ("False", "Unschedulable")
    deleted = cluster.core.delete_namespaced_pod("one", "default")
    assert deleted.metadata.deletion_grace_period_seconds == 0
    assert cluster.core.list_namespaced_pod("default").items == []


def test_a_full_node_keeps_pods_waiting(make_cluster) -> None:
    cluster = make_cluster(kubelet=KubeletSettings(pods_per_node=1))
    cluster.create(pod("one", "exec sleep 60"))
    cluster.until_phase("one", "Running")
    cluster.create(pod("two"))
    cluster.until("two", lambda event: bool(event["object"]["status"].get("conditions")))
    cluster.core.delete_namespaced_pod("one", "default")
    cluster.until_phase("two", "Succeeded")


def test_two_nodes_share_the_pods(make_cluster) -> None:
    cluster = make_cluster(kubelet=KubeletSettings(nodes=("a", "b")))
    for name in ("one", "two"):
        cluster.create(pod(name, "exec sleep 60"))
    nodes = {cluster.until_phase(name, "Running")["spec"]["nodeName"] for name in ("one", "two")}
    assert nodes == {"a", "b"}


def test_a_drain_evicts_and_the_next_pod_waits(cluster: Cluster) -> None:
    cluster.create(pod("one", "exec sleep 60"))
    cluster.until_phase("one", "Running")
    watching = Watching(cluster.core, field_selector="metadata.name=one")
    watching.wait_for(lambda events: len(events) == 1)
    cluster.running.execute(Drain(node="lab-node-1"))
    gone = watching.wait_for(lambda events: events[-1]["type"] == "DELETED")[-1]["object"]
    assert condition(gone, "DisruptionTarget") == ("True", "EvictionByEvictionAPI")
    cluster.create(pod("two"))
    cluster.until("two", lambda event: bool(event["object"]["status"].get("conditions")))
    cluster.running.execute(Cordon(node="lab-node-1", unschedulable=False))
    cluster.until_phase("two", "Succeeded")


def test_memory_kills(cluster: Cluster) -> None:
    cluster.create(pod("one", "exec sleep 60"))
    cluster.until_phase("one", "Running")
    cluster.running.execute(KillForMemory(pod="one"))
    failed = cluster.until_phase("one", "Failed")
    assert (terminated(failed)["exitCode"], terminated(failed)["reason"]) == (137, "OOMKilled")


def test_node_pressure_fails_the_pod_and_leaves_the_object(cluster: Cluster) -> None:
    cluster.create(pod("one", "exec sleep 60"))
    cluster.until_phase("one", "Running")
    cluster.running.execute(NodePressure(pod="one"))
    failed = cluster.until("one", lambda event: event["object"]["status"].get("reason") == "Evicted")[-1]["object"]
    assert failed["status"]["phase"] == "Failed"
    assert cluster.core.delete_namespaced_pod("one", "default").metadata.deletion_grace_period_seconds == 0


def test_a_deadline_ends_a_pod(cluster: Cluster) -> None:
    cluster.create(pod("one", "exec sleep 60", activeDeadlineSeconds=1))
    failed = cluster.until_phase("one", "Failed")
    assert failed["status"]["reason"] == "DeadlineExceeded"


def test_logs_in_part(cluster: Cluster) -> None:
    cluster.create(pod("one", "for n in 1 2 3; do echo line $n; done; printf rest"))
    cluster.until_phase("one", "Succeeded")
    assert logs(cluster) == "line 1\nline 2\nline 3\nrest"
    assert logs(cluster, tail_lines=2) == "line 3\nrest"
    assert logs(cluster, tail_lines=0) == ""
    assert logs(cluster, limit_bytes=4) == "line"
    assert logs(cluster, since_seconds=60).startswith("line 1")
    stamped = logs(cluster, timestamps=True).splitlines()
    assert [line.partition(" ")[2] for line in stamped] == ["line 1", "line 2", "line 3", "rest"]
    assert stamped[0].startswith("20")


def test_a_followed_log_ends_with_the_container(cluster: Cluster) -> None:
    fifo = cluster.folder / "go"
    os.mkfifo(fifo)
    cluster.create(pod("one", f"echo first; read x < {fifo}; echo $x"))
    cluster.until_phase("one", "Running")
    answer = cluster.core.read_namespaced_pod_log("one", "default", follow=True, _preload_content=False)
    pieces = answer.stream()
    assert next(pieces) == b"first\n"
    fifo.write_text("second\n")
    assert b"".join(pieces) == b"second\n"


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({"container": "none"}, "container none is not valid for pod one"),
        ({"previous": True}, 'previous terminated container "base" in pod "one" not found'),
        ({}, 'container "base" in pod "one" is waiting to start: ContainerCreating'),
    ],
)
def test_logs_that_there_are_not(cluster: Cluster, query: dict, message: str) -> None:
    cluster.arm("slow-start", params={"seconds": 60})
    cluster.create(pod("one"))
    cluster.until_waiting("one", "ContainerCreating")
    with pytest.raises(ApiException) as error:
        logs(cluster, **query)
    assert error.value.status == 400
    assert json.loads(error.value.body)["message"] == message


def test_the_history_has_every_step_on_one_clock(cluster: Cluster) -> None:
    cluster.create(pod("one", "exit 2"))
    cluster.until_phase("one", "Failed")
    entries = cluster.history()
    assert [entry["t"] for entry in entries] == sorted(entry["t"] for entry in entries)
    assert [entry["seq"] for entry in entries] == list(range(1, len(entries) + 1))
    assert [(entry["before"], entry["after"]) for entry in cluster.history("pod.phase")] == [
        ("", "Pending"),
        ("Pending", "Running"),
        ("Running", "Failed"),
    ]
    (begin,), (end,) = cluster.history("process.start"), cluster.history("process.exit")
    assert begin["pid"] == end["pid"]
    assert (end["exit_code"], end["pod"]) == (2, "one")
    (request,) = [entry for entry in cluster.history("api.request") if entry["verb"] == "create"]
    (answer,) = [entry for entry in cluster.history("api.answer") if entry["req"] == request["req"]]
    assert request["body"]["metadata"]["name"] == "one"
    assert answer["code"] == 201


def test_stopping_leaves_no_process(tmp_path) -> None:
    with cluster_in(tmp_path, fast()) as cluster:
        cluster.create(pod("one", "trap '' TERM; echo up; while :; do sleep 0.05; done"))
        follow_after_running(cluster)
        pid = started_pid(cluster)
    assert session_members(pid) == []


def test_a_pod_with_a_scheduling_gate_waits_until_it_is_taken_away(cluster: Cluster) -> None:
    gated = pod("gated")
    gated["spec"]["schedulingGates"] = [{"name": "example.org/later"}]
    cluster.create(gated)
    cluster.create(pod("free"))
    cluster.until_phase("free", "Succeeded")
    assert cluster.core.read_namespaced_pod("gated", "default").spec.node_name is None
    cluster.core.patch_namespaced_pod("gated", "default", {"spec": {"schedulingGates": None}})
    cluster.until_phase("gated", "Succeeded")
