"""The relay before a real cluster, which a stand-in plays: what it passes on, what it notes, and its faults."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
import requests
import urllib3
from kubernetes import dynamic
from kubernetes.client import ApiException
from lab_cluster import Watching, brief, pod
from lab_joined import NAMESPACE, Joined, joined_in

from launchguard.errors import LaunchguardError
from launchguard.lab.faults import Match
from launchguard.lab.plan import ApiDown, ApiUp, Compact, DropWatches, StepClock

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CREATION = Match(verbs=("create",), resource="pods")
PODS = Match(resource="pods")


@pytest.fixture
def both(tmp_path: Path) -> Iterator[Joined]:
    with joined_in(tmp_path) as made:
        yield made
        assert made.bugs() == []


def names(both: Joined) -> list[str]:
    return [one.metadata.name for one in both.far.core.list_namespaced_pod(NAMESPACE).items]


def answers(both: Joined) -> list[Any]:
    return [one.get("code") or one.get("cut") for one in both.history("api.answer")]


def story(records: list[dict[str, Any]]) -> list[tuple[Any, ...]]:
    """Give what a history tells of one pod, without what two runs of it need not share."""
    return [
        (one["kind"], one.get("type"), one.get("after"), one.get("exit_code"), *sorted(one.get("state", {})))
        for one in records
        if one["kind"] in {"object", "pod.phase", "container.state", "process.start", "process.exit"}
        and "one" in {one.get("pod"), one.get("object", {}).get("name")}
        # The far side notes what a container waits for only when it changes.
        and "waiting" not in one.get("state", {})
    ]


# What is passed on, and noted


def test_the_history_tells_of_a_pod_what_the_stand_in_tells_itself(both: Joined) -> None:
    both.create("one", "exit 3")
    both.until_phases("Failed")
    both.core.delete_namespaced_pod("one", NAMESPACE)
    both.until_phases()
    far = story(both.far.history())
    # The far side notes a process when it is forked, the lab when the pod's status says so.
    assert sorted(map(str, story(both.history()))) == sorted(map(str, far))
    assert ("process.exit", None, None, 3) in far


def test_a_creation_is_in_the_history_before_its_answer(both: Joined) -> None:
    both.create("one")
    kinds = [one["kind"] for one in both.history("api.request", "object", "api.answer")][:3]
    assert kinds == ["api.request", "object", "api.answer"]
    asked = both.history("api.request")[0]
    assert (asked["user"], asked["verb"], asked["body"]["metadata"]["name"]) == ("scheduler-a", "create", "one")


def test_the_path_of_the_clusters_url_is_kept(both: Joined) -> None:
    both.create("one")
    # The kubeconfig leads to .../as/lab, which the far side takes for the user's name.
    assert {one["user"] for one in both.far.history("api.request")} == {"lab"}


def test_a_client_watches_through_the_relay(both: Joined) -> None:
    watching = watch(both, label_selector=both.near.cluster.home.selector)
    both.create("one")
    seen = watching.wait_for(lambda events: any("Succeeded" in brief(one) for one in events))
    assert brief(seen[0]) == "ADDED Pending"
    assert {one["type"] for one in both.history("api.watch-event")} >= {"ADDED", "MODIFIED"}


def test_the_lab_knows_of_an_end_before_airflow_does(both: Joined, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(both.near.cluster.observer, "_take_event", lambda _event: None)
    watching = watch(both)
    both.create("one")
    watching.wait_for(lambda events: any("Succeeded" in brief(one) for one in events))
    assert list(both.near.phases()) == ["Succeeded"]


def test_discovery_and_metadata_only_lists_go_through(both: Joined) -> None:
    both.create("one")
    pods = dynamic.DynamicClient(both.core.api_client).resources.get(api_version="v1", kind="Pod")
    assert [one.metadata.name for one in pods.get(namespace=NAMESPACE).items] == ["one"]


def test_what_the_cluster_refuses_is_passed_on(both: Joined) -> None:
    both.create("one", "sleep 60")
    with pytest.raises(ApiException) as refused:
        both.create("one")
    assert refused.value.status == 409
    assert "already exists" in refused.value.body
    assert answers(both)[-1] == 409


def test_the_relay_serves_its_namespace_only(both: Joined) -> None:
    for path in ("/api/v1/namespaces/kube-system/pods", "/api/v1/nodes", "/api/v1/pods", "/api/v1/secrets"):
        answer = requests.get(f"{both.near.url}{path}", timeout=9)
        assert (answer.status_code, answer.json()["reason"]) == (403, "Forbidden"), path


# Faults on requests


@pytest.mark.parametrize(("action", "code"), [("quota", 403), ("rate-limit", 429), ("error", 500), ("gone", 410)])
def test_a_refused_creation_never_reaches_the_cluster(both: Joined, action: str, code: int) -> None:
    both.arm(action, match=CREATION, count=1)
    # Not by the client, which repeats what gets a 429.
    url = f"{both.near.url}/as/scheduler-b/api/v1/namespaces/{NAMESPACE}/pods"
    answer = requests.post(url, json=pod("one"), timeout=9)
    assert answer.status_code == code
    assert ("Retry-After" in answer.headers) == (action == "rate-limit")
    assert names(both) == []
    assert [one["rule"] for one in both.history("fault.fired")] == ["fault"]


def test_a_fault_strikes_one_scheduler_only(both: Joined) -> None:
    both.arm("quota", match=Match(verbs=("create",), resource="pods", user="scheduler-b"))
    both.create("one")
    url = f"{both.near.url}/as/scheduler-b/api/v1/namespaces/{NAMESPACE}/pods"
    assert requests.post(url, json=pod("two"), timeout=9).status_code == 403


@pytest.mark.parametrize(("action", "told"), [("lost-response", [True]), ("error-after", [500])])
def test_a_pod_is_created_though_the_answer_says_otherwise(both: Joined, action: str, told: list[Any]) -> None:
    both.arm(action, match=CREATION, count=1)
    both.core.api_client.rest_client.pool_manager.connection_pool_kw["retries"] = False
    with pytest.raises((ApiException, urllib3.exceptions.HTTPError)):
        both.create("one", "sleep 60")
    assert names(both) == ["one"]
    assert answers(both) == told
    added = [one for one in both.history("object") if one["type"] == "ADDED"]
    assert [one["object"]["name"] for one in added] == ["one"]


def test_a_lost_request_creates_nothing(both: Joined) -> None:
    both.arm("lost-request", match=CREATION, count=1)
    both.core.api_client.rest_client.pool_manager.connection_pool_kw["retries"] = False
    with pytest.raises(urllib3.exceptions.HTTPError):
        both.create("one")
    assert names(both) == []


@pytest.mark.parametrize(("action", "there"), [("slow", []), ("slow-response", ["one"])])
def test_a_slow_creation_is_carried_out_though_its_client_left(both: Joined, action: str, there: list[str]) -> None:
    both.arm(action, match=CREATION, params={"seconds": 0.6})
    url = f"{both.near.url}/as/scheduler-a/api/v1/namespaces/{NAMESPACE}/pods"
    with pytest.raises(requests.Timeout):
        requests.post(url, json=pod("one", "sleep 60"), timeout=0.3)
    assert names(both) == there
    both.until(lambda: names(both) == ["one"])


# Faults on watches


def watch(both: Joined, **query: Any) -> Watching:
    """Watch, and go on only when the cluster has the watch."""
    watching = Watching(both.core, **query)
    both.until(lambda: both.near.call(lambda: len(both.near.cluster.relay._watches)))
    return watching


def test_a_duplicated_event_comes_twice(both: Joined) -> None:
    both.arm("duplicate-event", match=Match(resource="pods", events=("ADDED",), user="scheduler-a"), count=1)
    watching = watch(both)
    both.create("one", "sleep 60")
    seen = watching.wait_for(lambda events: len(events) >= 2)
    assert [one["type"] for one in seen[:2]] == ["ADDED", "ADDED"]


def test_a_reordered_event_comes_after_the_next(both: Joined) -> None:
    both.arm("reorder-event", match=Match(resource="pods", events=("ADDED",)), count=1)
    watching = watch(both)
    both.create("one", "sleep 60")
    seen = watching.wait_for(lambda events: len(events) >= 2)
    assert [one["type"] for one in seen[:2]] == ["MODIFIED", "ADDED"]


def test_a_late_event_holds_up_its_stream_but_not_the_lab(both: Joined) -> None:
    both.arm("late-event", match=Match(resource="pods", events=("ADDED",)), count=1, params={"seconds": 1.0})
    watching = watch(both)
    began = time.monotonic()
    both.create("one", "exit 1")
    both.until_phases("Failed")
    assert not watching.events
    watching.wait_for(lambda events: any("Failed" in brief(one) for one in events))
    assert time.monotonic() - began >= 1.0


def test_a_watch_is_cut_in_place_of_an_event(both: Joined) -> None:
    both.arm("watch-drop", match=Match(resource="pods", events=("ADDED",)), count=1)
    watching = watch(both)
    both.create("one", "sleep 60")
    watching.wait_end()
    assert watching.error is not None
    assert "dropped" in [one.get("watch_end") for one in both.history("api.answer")]


def test_a_watch_is_told_that_its_version_is_gone(both: Joined) -> None:
    both.arm("watch-gone", match=PODS, count=1)
    watching = watch(both, resource_version=both.far.version)
    both.create("one", "sleep 60")
    watching.wait_end()
    assert isinstance(watching.error, ApiException)
    assert watching.error.status == 410


def test_watches_are_dropped_by_command(both: Joined) -> None:
    watching = watch(both)
    both.near.execute(DropWatches(resource="pods", user="scheduler-b"))
    assert both.near.call(lambda: [one.dropped.is_set() for one in both.near.cluster.relay._watches]) == [False]
    both.near.execute(DropWatches(resource="pods"))
    watching.wait_end()
    assert watching.error is not None


def test_what_was_forgotten_cannot_be_watched_from(both: Joined) -> None:
    before = both.far.version
    both.create("one", "sleep 60")
    both.until_phases("Running")
    both.near.execute(Compact())
    watching = Watching(both.core, resource_version=before)
    watching.wait_end()
    assert isinstance(watching.error, ApiException)
    assert watching.error.status == 410
    now = Watching(both.core, resource_version=both.far.version)
    both.core.delete_namespaced_pod("one", NAMESPACE, grace_period_seconds=0)
    now.wait_for(bool)


# The cluster as a whole


def test_the_api_goes_down_and_comes_back_where_it_was(both: Joined) -> None:
    url = both.near.url
    both.near.execute(ApiDown())
    with pytest.raises(requests.ConnectionError):
        requests.get(f"{url}/version", timeout=9)
    both.near.execute(ApiUp())
    assert requests.get(f"{url}/version", timeout=9).json()["major"]


def test_clients_see_that_the_cluster_is_gone(both: Joined) -> None:
    both.far.running.wait(both.far.running.standin.api.close())
    with pytest.raises(ApiException) as refused:
        both.create("one")
    # kubectl's word for it.
    assert refused.value.status == 500


def test_a_command_that_no_real_cluster_knows_is_refused(both: Joined) -> None:
    with pytest.raises(LaunchguardError, match="a real cluster knows no command 'step-clock'"):
        both.near.execute(StepClock(seconds=60))
