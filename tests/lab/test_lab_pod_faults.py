"""Faults between a pod's creation and its first process."""

from __future__ import annotations

import pytest
from lab_cluster import Cluster, Watching, pod, terminated, waiting_reason

from launchguard.lab.faults import Match


def test_an_image_pull_error_that_goes_away(cluster: Cluster) -> None:
    cluster.arm("image-pull", count=1, params={"seconds": 0.1})
    cluster.create(pod("one"))
    cluster.until_waiting("one", "ErrImagePull")
    cluster.until_phase("one", "Succeeded")
    states = [next(iter(entry["state"].values())).get("reason") for entry in cluster.history("container.state")]
    assert states[:2] == ["ErrImagePull", "ImagePullBackOff"]


def test_an_image_pull_error_for_good(cluster: Cluster) -> None:
    cluster.arm("image-pull", params={"message": "pull QPS exceeded"})
    cluster.create(pod("one"))
    found = cluster.until_waiting("one", "ErrImagePull")
    assert found["status"]["containerStatuses"][0]["state"]["waiting"]["message"] == "pull QPS exceeded"
    assert cluster.delete("one")[-1]["object"]["status"]["phase"] == "Failed"
    assert cluster.history("process.start") == []


@pytest.mark.parametrize(
    ("action", "code", "reason"), [("oom-before-start", 137, "OOMKilled"), ("start-error", 128, "StartError")]
)
def test_containers_that_end_before_they_run(cluster: Cluster, action: str, code: int, reason: str) -> None:
    cluster.arm(action, count=1)
    cluster.create(pod("one"))
    failed = cluster.until_phase("one", "Failed")
    assert (terminated(failed)["exitCode"], terminated(failed)["reason"]) == (code, reason)
    assert cluster.history("process.start") == []
    assert cluster.fired() == 1


def test_a_pod_that_the_kubelet_rejects_has_no_container_statuses(cluster: Cluster) -> None:
    cluster.arm("rejected", count=1)
    cluster.create(pod("one"))
    failed = cluster.until_phase("one", "Failed")
    assert failed["status"]["reason"] == "Evicted"
    assert "MemoryPressure" in failed["status"]["message"]
    assert "containerStatuses" not in failed["status"]
    assert cluster.history("process.start") == []


def test_a_drain_before_the_start(cluster: Cluster) -> None:
    cluster.arm("drained", count=1)
    before = cluster.core.list_namespaced_pod("default").metadata.resource_version
    watching = Watching(cluster.core, resource_version=before)  # the pod may be gone before the watch stands
    cluster.create(pod("one"))
    seen = watching.wait_for(lambda events: events and events[-1]["type"] == "DELETED")
    assert [event["object"]["status"]["phase"] for event in seen][-3:] == ["Failed"] * 3
    reasons = {one["reason"] for one in seen[-1]["object"]["status"]["conditions"] if one["type"] == "DisruptionTarget"}
    assert reasons == {"EvictionByEvictionAPI"}
    assert cluster.history("process.start") == []


def test_a_pod_that_no_node_takes_for_a_while(cluster: Cluster) -> None:
    cluster.arm("unschedulable", match=Match(name="one"), params={"seconds": 0.2})
    cluster.create(pod("one"))
    cluster.create(pod("two"))
    cluster.until_phase("two", "Succeeded")
    assert cluster.core.read_namespaced_pod("one", "default").status.phase == "Pending"
    cluster.until_phase("one", "Succeeded")


def test_a_slow_start(cluster: Cluster) -> None:
    cluster.arm("slow-start", params={"seconds": 0.2})
    cluster.create(pod("one"))
    assert waiting_reason(cluster.until_waiting("one", "ContainerCreating")) == "ContainerCreating"
    cluster.until_phase("one", "Succeeded")
    (scheduled,) = [one for one in cluster.history("fault.fired") if one["action"] == "slow-start"]
    (started,) = cluster.history("process.start")
    assert started["t"] - scheduled["t"] >= 0.2e9
