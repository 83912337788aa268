"""What befalls pods in a real cluster: the lab changes them on their way, and a stand-in plays the cluster."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from lab_cluster import pod, waiting_reason
from lab_joined import NAMESPACE, Joined, joined_in

from launchguard.errors import LaunchguardError
from launchguard.lab.cluster.hardships import GATE
from launchguard.lab.kube.objects import part
from launchguard.lab.kubelet import scheduling
from launchguard.lab.kubelet.images import LocalImage
from launchguard.lab.plan import Cordon, Drain, Evict

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Joined]:
    with joined_in(tmp_path, images={"lab/*": LocalImage(env={"PATH": "/usr/bin:/bin"})}) as made:
        yield made


def far_pod(both: Joined, name: str = "one") -> dict[str, Any]:
    api = both.far.core
    found: dict[str, Any] = api.api_client.sanitize_for_serialization(api.read_namespaced_pod(name, NAMESPACE))
    return found


def terminated(both: Joined) -> dict[str, Any]:
    found: dict[str, Any] = far_pod(both)["status"]["containerStatuses"][0]["state"]["terminated"]
    return found


def test_a_pod_is_held_back_from_all_nodes(both: Joined) -> None:
    both.arm("unschedulable", count=1, params={"seconds": 0.5})
    began = time.monotonic()
    both.create("one")
    assert far_pod(both)["spec"]["schedulingGates"] == [{"name": GATE}]
    both.create("two")
    both.until_phases("Pending", "Succeeded")
    both.until_phases("Succeeded", "Succeeded")
    assert time.monotonic() - began >= 0.5
    assert both.bugs() == []


def test_a_cluster_without_scheduling_gates_gives_no_verdict(both: Joined, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduling, "_is_waiting", lambda pod: not part(pod, "spec").get("nodeName"))
    both.arm("unschedulable", count=1, params={"seconds": 60})
    both.create("one")
    both.until(both.bugs)
    assert "got a node in spite of its scheduling gate" in both.bugs()[0]


def test_a_slow_start_waits_for_its_time(both: Joined) -> None:
    both.arm("slow-start", count=1, params={"seconds": 0.5})
    began = time.monotonic()
    both.create("one")
    both.until_phases("Succeeded")
    assert time.monotonic() - began >= 0.5
    assert part(far_pod(both), "spec")["nodeName"]


def test_a_drained_pod_had_a_node_and_never_ran(both: Joined) -> None:
    both.arm("drained", count=1)
    both.create("one")
    both.until(lambda: any(one["type"] == "DELETED" for one in both.history("object")))
    assert not both.history("process.start")
    evictions = [one for one in both.far.history("api.request") if one["subresource"] == "eviction"]
    assert [one["name"] for one in evictions] == ["one"]
    # No wish of a client of the relay: what the checker calls evicted.
    assert not [one for one in both.history("api.request") if one["verb"] != "create"]
    assert both.bugs() == []


def test_a_program_that_is_not_there(both: Joined) -> None:
    both.arm("start-error", count=1)
    both.create("one")
    both.until_phases("Failed")
    assert (terminated(both)["reason"], terminated(both)["exitCode"]) == ("StartError", 128)
    assert not both.history("process.start")
    assert [one["exit_code"] for one in both.history("process.exit")] == [128]


def test_an_image_that_is_nowhere_for_good(both: Joined) -> None:
    both.arm("image-pull", count=1)
    both.create("one")
    both.until(lambda: waiting_reason(far_pod(both)) in {"ErrImagePull", "ImagePullBackOff"})
    assert list(both.near.phases()) == ["Pending"]


def test_an_image_comes_back(both: Joined) -> None:
    both.arm("image-pull", count=1, params={"seconds": 0.2})
    both.create("one")
    both.until(lambda: far_pod(both)["spec"]["containers"][0]["image"] == "lab/any:1")
    assert both.bugs() == []


def test_a_cordon_holds_new_pods_until_it_is_lifted(both: Joined) -> None:
    both.near.execute(Cordon(node="lab-node-1"))
    both.create("one")
    time.sleep(0.1)
    assert list(both.near.phases()) == ["Pending"]
    both.near.heal()
    both.until_phases("Succeeded")
    assert "schedulingGates" not in far_pod(both)["spec"]


def test_a_cordon_that_is_lifted_while_a_pod_is_on_its_way(both: Joined) -> None:
    both.near.execute(Cordon(node="lab-node-1"))
    body = pod("one")
    body["metadata"]["labels"] = both.near.cluster.home.labels
    hardships = both.near.cluster.hardships
    changed, burdens = both.near.call(lambda: hardships.lay_on(body))
    made = both.far.create(changed)
    both.near.heal()
    created = both.far.core.api_client.sanitize_for_serialization(made)
    both.near.call(lambda: hardships.begin(created, burdens))
    both.until_phases("Succeeded")


def test_a_pod_that_is_held_twice_is_let_go_once(both: Joined) -> None:
    both.near.execute(Cordon(node="lab-node-1"))
    both.arm("unschedulable", count=1, params={"seconds": 0.3})
    both.create("one")
    both.near.heal()
    time.sleep(0.1)
    assert list(both.near.phases()) == ["Pending"]
    both.until_phases("Succeeded")


def test_a_drain_takes_the_labs_pods_only(both: Joined) -> None:
    both.far.create(pod("theirs", "sleep 60"))
    both.create("one", "sleep 60")
    both.until_phases("Running")
    both.near.execute(Drain(node="lab-node-1"))
    both.until_phases()
    assert [one.metadata.name for one in both.far.core.list_namespaced_pod(NAMESPACE).items] == ["theirs"]
    assert not far_pod(both, "theirs")["metadata"].get("deletionTimestamp")


def test_one_pod_is_evicted_by_command(both: Joined) -> None:
    both.create("one", "sleep 60")
    both.create("two", "sleep 60")
    both.until_phases("Running", "Running")
    both.near.execute(Evict(pod="one"))
    both.until_phases("Running")


def test_an_eviction_that_is_refused_gives_no_verdict(both: Joined, monkeypatch: pytest.MonkeyPatch) -> None:
    async def refuse(*_given: object, **_named: object) -> None:
        raise LaunchguardError("the cluster refuses: a disruption budget")

    both.arm("drained", count=1)
    monkeypatch.setattr(both.near.cluster.hardships, "_api", SimpleNamespace(ask=refuse))
    both.create("one")
    both.until(both.bugs)
    assert "a disruption budget" in both.bugs()[0]
