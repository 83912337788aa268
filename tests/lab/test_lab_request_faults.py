"""Faults of requests and watches, as the real client meets them."""

from __future__ import annotations

import json
import time

import pytest
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from lab_cluster import Cluster, Watching, pod
from urllib3.exceptions import MaxRetryError, ProtocolError, ReadTimeoutError

from launchguard.lab.faults import Match
from launchguard.lab.kubeconfig import write_kubeconfig
from launchguard.lab.plan import ApiDown, ApiUp, DropWatches, Plan, StepClock, Timed

HELD = {"nodeName": "no-such-node"}
CREATE = Match(verbs=("create",), resource="pods")


def names(cluster: Cluster) -> list[str]:
    return [item.metadata.name for item in cluster.core.list_namespaced_pod("default").items]


def refused(cluster: Cluster) -> ApiException:
    with pytest.raises(ApiException) as error:
        cluster.create(pod("one", **HELD))
    return error.value


def test_quota(cluster: Cluster) -> None:
    cluster.arm("quota", match=CREATE, count=1)
    error = refused(cluster)
    assert (error.status, error.reason) == (403, "Forbidden")
    assert json.loads(error.body)["message"] == (
        'pods "one" is forbidden: exceeded quota: compute-quota, requested: pods=1, used: pods=10, limited: pods=10'
    )
    cluster.create(pod("one", **HELD))
    assert cluster.fired() == 1


def test_quota_conflict_has_the_words_that_the_executor_looks_for(cluster: Cluster) -> None:
    cluster.arm("quota-conflict", match=CREATE)
    error = refused(cluster)
    assert error.status == 409
    assert "object has been modified" in json.loads(error.body)["message"]


def test_a_rate_limit_is_plain_text_with_a_header(cluster: Cluster) -> None:
    cluster.arm("rate-limit", match=CREATE, params={"retry_after": 7})
    error = refused(cluster)
    assert (error.status, error.headers["Retry-After"]) == (429, "7")
    assert error.body.strip() == "Too many requests, please try again later."


def test_a_server_error_does_nothing_and_one_afterwards_has_done_it(cluster: Cluster) -> None:
    cluster.arm("error", match=CREATE, count=1)
    error = refused(cluster)
    assert (error.status, names(cluster)) == (500, [])
    cluster.arm("error-after", "after", match=CREATE, count=1)
    error = refused(cluster)
    assert (error.status, names(cluster)) == (500, ["one"])


def test_a_list_that_is_gone(cluster: Cluster) -> None:
    cluster.arm("gone", match=Match(verbs=("list",)), count=1)
    with pytest.raises(ApiException) as error:
        cluster.core.list_namespaced_pod("default")
    assert error.value.status == 410


def test_a_watch_that_is_refused_with_410(cluster: Cluster) -> None:
    cluster.arm("gone", match=Match(verbs=("watch",)))
    seen = Watching(cluster.core)
    seen.wait_end()
    assert seen.error.status == 410


def test_a_lost_response_leaves_the_pod(cluster: Cluster) -> None:
    cluster.arm("lost-response", match=CREATE, count=1)
    with pytest.raises((ProtocolError, MaxRetryError)):
        cluster.create(pod("one", **HELD))
    assert names(cluster) == ["one"]
    assert next(entry["cut"] for entry in cluster.history("api.answer"))


def test_a_lost_request_leaves_nothing(cluster: Cluster) -> None:
    cluster.arm("lost-request", match=CREATE, count=1)
    with pytest.raises((ProtocolError, MaxRetryError)):
        cluster.create(pod("one", **HELD))
    assert names(cluster) == []


def test_a_slow_creation_goes_on_when_its_client_has_left(cluster: Cluster) -> None:
    cluster.arm("slow", match=CREATE, params={"seconds": 0.3})
    with pytest.raises(ReadTimeoutError):
        cluster.core.create_namespaced_pod("default", pod("one", **HELD), _request_timeout=0.1)
    assert cluster.until("one", lambda event: event["type"] == "ADDED")


def test_a_slow_response_comes_after_the_pod(cluster: Cluster) -> None:
    cluster.arm("slow-response", match=CREATE, params={"seconds": 0.3})
    begun = time.monotonic()
    cluster.create(pod("one", **HELD))
    assert time.monotonic() - begun >= 0.3


def test_a_fault_can_hit_one_client_only(cluster: Cluster) -> None:
    path = write_kubeconfig(cluster.folder / "b", cluster.running.url, user="scheduler-b")
    cluster.arm("quota", match=Match(verbs=("create",), user="scheduler-b"))
    cluster.create(pod("one", **HELD))
    with config.new_client_from_config(str(path)) as api, pytest.raises(ApiException):
        client.CoreV1Api(api).create_namespaced_pod("default", pod("two", **HELD))


def test_a_fault_can_hit_one_label_only_also_when_the_request_names_the_pod(cluster: Cluster) -> None:
    cluster.create(pod("one", **HELD))
    cluster.create(pod("two", **HELD))
    cluster.arm("error", match=Match(verbs=("patch",), labels="app=one"))
    patch = {"metadata": {"labels": {"x": "y"}}}
    cluster.core.patch_namespaced_pod("two", "default", patch)
    with pytest.raises(ApiException):
        cluster.core.patch_namespaced_pod("one", "default", patch)


def versions(events: list) -> list[tuple[str, int]]:
    return [(one["object"]["metadata"]["name"], int(one["object"]["metadata"]["resourceVersion"])) for one in events]


def test_duplicated_events(cluster: Cluster) -> None:
    cluster.arm("duplicate-event", match=Match(events=("ADDED",)))
    seen = Watching(cluster.core)
    cluster.create(pod("one", **HELD))
    first, second = seen.wait_for(lambda events: len(events) == 2)
    assert first == second


def test_reordered_events(cluster: Cluster) -> None:
    seen = Watching(cluster.core)
    cluster.create(pod("zero", **HELD))
    seen.wait_for(lambda events: len(events) == 1)
    cluster.arm("reorder-event", match=Match(name="one"), count=1)
    cluster.create(pod("one", **HELD))
    cluster.create(pod("two", **HELD))
    events = seen.wait_for(lambda events: len(events) == 3)
    assert [name for name, _ in versions(events)] == ["zero", "two", "one"]


def test_late_events_hold_up_all_behind_them(cluster: Cluster) -> None:
    seen = Watching(cluster.core)
    cluster.arm("late-event", match=Match(name="one"), count=1, params={"seconds": 0.3})
    begun = time.monotonic()
    cluster.create(pod("one", **HELD))
    cluster.create(pod("two", **HELD))
    events = seen.wait_for(lambda events: len(events) == 2)
    assert [name for name, _ in versions(events)] == ["one", "two"]
    assert time.monotonic() - begun >= 0.3


def test_a_dropped_watch_breaks_and_misses_nothing_afterwards(cluster: Cluster) -> None:
    version = cluster.version
    cluster.arm("watch-drop", match=Match(name="one"), count=1)
    seen = Watching(cluster.core, resource_version=version)
    cluster.create(pod("one", **HELD))
    seen.wait_end()
    assert isinstance(seen.error, ProtocolError)
    again = Watching(cluster.core, resource_version=version)
    again.wait_for(lambda events: len(events) == 1)


def test_an_error_event_with_410(cluster: Cluster) -> None:
    cluster.arm("watch-gone", match=Match(name="one"), count=1)
    seen = Watching(cluster.core)
    cluster.create(pod("one", **HELD))
    seen.wait_end()
    assert seen.error.status == 410
    assert seen.error.reason.startswith("Expired: too old resource version")


def test_open_watches_can_be_cut(cluster: Cluster) -> None:
    cluster.create(pod("one", **HELD))
    seen = Watching(cluster.core)
    seen.wait_for(lambda events: len(events) == 1)
    cluster.running.execute(DropWatches(resource="pods"))
    seen.wait_end()
    assert isinstance(seen.error, ProtocolError)


def test_the_api_goes_down_and_comes_back_with_its_objects(cluster: Cluster) -> None:
    cluster.create(pod("one", **HELD))
    seen = Watching(cluster.core)
    seen.wait_for(lambda events: len(events) == 1)
    cluster.running.execute(ApiDown())
    seen.wait_end()
    assert seen.error is not None
    path = cluster.folder / "once"
    write_kubeconfig(path, cluster.running.url)
    with config.new_client_from_config(str(path)) as api:
        api.configuration.retries = False
        with pytest.raises(Exception, match="refused"):
            client.CoreV1Api(client.ApiClient(api.configuration)).list_namespaced_pod("default")
    cluster.running.execute(ApiUp())
    assert names(cluster) == ["one"]


def test_the_wall_clock_can_be_stepped(cluster: Cluster) -> None:
    cluster.running.execute(StepClock(seconds=-3600))
    before = cluster.create(pod("one", **HELD)).metadata.creation_timestamp
    cluster.running.execute(StepClock(seconds=7200))
    after = cluster.create(pod("two", **HELD)).metadata.creation_timestamp
    assert 7190 < (after - before).total_seconds() < 7260
    times = [entry["t"] for entry in cluster.history()]
    assert times == sorted(times)


def test_a_plan_carries_out_its_commands_in_time(cluster: Cluster) -> None:
    cluster.create(pod("one", **HELD))
    seen = Watching(cluster.core)
    seen.wait_for(lambda events: len(events) == 1)
    plan = Plan(commands=(Timed(0.05, DropWatches()),))
    cluster.running.call(lambda: cluster.running.standin.begin(plan))
    seen.wait_end()
    assert [entry["command"]["do"] for entry in cluster.history("command")] == ["drop-watches"]
