"""The API stand-in with the real, synchronous client: what KubernetesExecutor and the pod manager ask for."""

from __future__ import annotations

import json
import re

import pytest
from kubernetes import client, dynamic, watch
from kubernetes.client.exceptions import ApiException
from lab_cluster import Cluster, Watching, pod

PARTIAL = {"Accept": "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"}
HELD = {"nodeName": "no-such-node"}
"""A pod that no kubelet of ours runs stays as it is."""


def refusal(error: pytest.ExceptionInfo[ApiException]) -> tuple[int, str, str]:
    status = json.loads(error.value.body)
    assert status["kind"] == "Status"
    assert status["status"] == "Failure"
    assert status["code"] == error.value.status
    return error.value.status, status["reason"], status["message"]


def test_a_created_pod_has_what_a_server_gives(cluster: Cluster) -> None:
    created = cluster.create(pod("one"))
    assert re.fullmatch(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", created.metadata.uid)
    assert created.metadata.creation_timestamp is not None
    assert int(created.metadata.resource_version) > 0
    assert created.status.phase == "Pending"
    assert created.spec.service_account_name == "default"
    assert created.spec.containers[0].image_pull_policy == "IfNotPresent"
    assert cluster.core.read_namespaced_pod("one", "default").metadata.uid == created.metadata.uid


def test_a_name_is_taken_once(cluster: Cluster) -> None:
    cluster.create(pod("one", **HELD))
    with pytest.raises(ApiException) as error:
        cluster.create(pod("one", **HELD))
    assert refusal(error) == (409, "AlreadyExists", 'pods "one" already exists')


def test_generated_names_differ(cluster: Cluster) -> None:
    body = pod("x", **HELD)
    body["metadata"] = {"generateName": "task-"}
    names = {cluster.create(body).metadata.name for _ in range(3)}
    assert len(names) == 3
    assert all(re.fullmatch(r"task-[a-z0-9]{5}", name) for name in names)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"metadata": {"name": "No_Good"}}, (422, "Invalid", "a lowercase RFC 1123 subdomain")),
        ({"metadata": {"name": "x", "labels": {"a": "b" * 64}}}, (422, "Invalid", "must be no more than 63")),
        ({"metadata": {}}, (422, "Invalid", "name or generateName is required")),
        ({"spec": {"containers": []}}, (422, "Invalid", "spec.containers: Required value")),
        ({"kind": "Node"}, (400, "BadRequest", "does not match the expected kind")),
    ],
)
def test_bad_pods_are_refused(cluster: Cluster, change: dict, expected: tuple[int, str, str]) -> None:
    with pytest.raises(ApiException) as error:
        cluster.create({**pod("x"), **change})
    code, reason, message = refusal(error)
    assert (code, reason) == expected[:2]
    assert expected[2] in message


def test_what_is_not_there_is_404(cluster: Cluster) -> None:
    with pytest.raises(ApiException) as error:
        cluster.core.read_namespaced_pod("none", "default")
    assert refusal(error) == (404, "NotFound", 'pods "none" not found')
    with pytest.raises(ApiException) as error:
        cluster.core.create_namespaced_pod("nowhere", pod())
    assert refusal(error) == (404, "NotFound", 'namespaces "nowhere" not found')
    with pytest.raises(ApiException) as error:
        client.BatchV1Api(cluster.core.api_client).list_namespaced_job("default")
    assert error.value.status == 404


def test_lists_choose_by_labels_and_fields(cluster: Cluster) -> None:
    for name, worker in (("one", "1"), ("two", "2"), ("three", "3")):
        body = pod(name, **HELD)
        body["metadata"]["labels"] = {"airflow-worker": worker, "kubernetes_executor": "True"}
        cluster.create(body)

    def names(**query: str) -> list[str]:
        return [item.metadata.name for item in cluster.core.list_namespaced_pod("default", **query).items]

    assert names() == ["one", "three", "two"]
    assert names(label_selector="airflow-worker=1") == ["one"]
    assert names(label_selector="kubernetes_executor=True,airflow-worker!=1,done!=True") == ["three", "two"]
    assert names(label_selector="airflow-worker notin (1,2)") == ["three"]
    assert names(field_selector="metadata.name=two") == ["two"]
    assert names(field_selector="status.phase=Succeeded") == []
    with pytest.raises(ApiException) as error:
        names(field_selector="spec.nodeSelector=x")
    assert refusal(error)[0] == 400
    everywhere = cluster.core.list_pod_for_all_namespaces(label_selector="airflow-worker in (1,3)")
    assert [item.metadata.name for item in everywhere.items] == ["one", "three"]


def test_pages_show_the_moment_of_the_first(cluster: Cluster) -> None:
    for number in range(5):
        cluster.create(pod(f"pod-{number}", **HELD))
    first = cluster.core.list_namespaced_pod("default", limit=2)
    assert first.metadata.remaining_item_count == 3
    cluster.core.delete_namespaced_pod("pod-4", "default", grace_period_seconds=0)
    second = cluster.core.list_namespaced_pod("default", limit=2, _continue=first.metadata._continue)
    third = cluster.core.list_namespaced_pod("default", limit=2, _continue=second.metadata._continue)
    pages = [[item.metadata.name for item in page.items] for page in (first, second, third)]
    assert pages == [["pod-0", "pod-1"], ["pod-2", "pod-3"], ["pod-4"]]
    assert third.metadata._continue is None
    assert first.metadata.resource_version == third.metadata.resource_version
    cluster.running.call(cluster.running.standin.store.compact)
    with pytest.raises(ApiException) as error:
        cluster.core.list_namespaced_pod("default", limit=2, _continue=first.metadata._continue)
    assert refusal(error)[:2] == (410, "Expired")


def test_the_executors_metadata_list(cluster: Cluster) -> None:
    body = pod("one", **HELD)
    body["metadata"]["annotations"] = {"dag_id": "d"}
    cluster.create(body)
    found = dynamic.DynamicClient(cluster.core.api_client, cache_file=str(cluster.folder / "discovery.json"))
    pods = found.resources.get(api_version="v1", kind="Pod")
    answer = found.get(resource=pods, namespace="default", label_selector="app=one", header_params=PARTIAL)
    assert answer.kind == "PartialObjectMetadataList"
    (item,) = answer.items
    assert item.metadata.annotations.dag_id == "d"
    assert item.spec is None


def test_patches_of_all_kinds(cluster: Cluster) -> None:
    cluster.create(pod("one", **HELD))
    strategic = {"metadata": {"labels": {"airflow_executor_done": "True"}}}
    assert cluster.core.patch_namespaced_pod("one", "default", strategic).metadata.labels == {
        "app": "one",
        "airflow_executor_done": "True",
    }
    steps = [{"op": "remove", "path": "/metadata/labels/app"}]
    assert "app" not in cluster.core.patch_namespaced_pod("one", "default", steps).metadata.labels
    merge = {"metadata": {"labels": {"airflow_executor_done": None}}}
    patched = cluster.core.patch_namespaced_pod("one", "default", merge, _content_type="application/merge-patch+json")
    assert patched.metadata.labels in (None, {})


def test_a_patch_that_changes_nothing_makes_no_version(cluster: Cluster) -> None:
    before = cluster.create(pod("one", **HELD)).metadata.resource_version
    patched = cluster.core.patch_namespaced_pod("one", "default", {"metadata": {"labels": {"app": "one"}}})
    assert patched.metadata.resource_version == before


def test_a_running_pods_spec_cannot_change(cluster: Cluster) -> None:
    cluster.create(pod("one", **HELD))
    with pytest.raises(ApiException) as error:
        cluster.core.patch_namespaced_pod("one", "default", {"spec": {"restartPolicy": "Always"}})
    assert refusal(error)[:2] == (422, "Invalid")


def test_status_and_the_rest_are_written_apart(cluster: Cluster) -> None:
    cluster.create(pod("one", **HELD))
    both = {"status": {"phase": "Running"}, "spec": {"activeDeadlineSeconds": 5}}
    patched = cluster.core.patch_namespaced_pod("one", "default", both)
    assert (patched.status.phase, patched.spec.active_deadline_seconds) == ("Pending", 5)
    patched = cluster.core.patch_namespaced_pod_status(
        "one", "default", {"status": {"phase": "Running"}, "spec": {"activeDeadlineSeconds": 1}}
    )
    assert (patched.status.phase, patched.spec.active_deadline_seconds) == ("Running", 5)


def test_a_config_map_is_compared_and_swapped(cluster: Cluster) -> None:
    made = cluster.core.create_namespaced_config_map("default", {"metadata": {"name": "lock"}, "data": {"n": "1"}})
    made.data["n"] = "2"
    cluster.core.replace_namespaced_config_map("lock", "default", made)
    made.data["n"] = "3"
    with pytest.raises(ApiException) as error:
        cluster.core.replace_namespaced_config_map("lock", "default", made)
    code, reason, message = refusal(error)
    assert (code, reason) == (409, "Conflict")
    assert message == (
        'Operation cannot be fulfilled on configmaps "lock": the object has been modified; please apply your '
        "changes to the latest version and try again"
    )
    assert cluster.core.read_namespaced_config_map("lock", "default").data == {"n": "2"}
    gone = cluster.core.delete_namespaced_config_map("lock", "default")
    assert gone.status == "Success"


@pytest.mark.parametrize("what", ["uid", "resource_version"])
def test_a_deletion_with_a_precondition_that_fails(cluster: Cluster, what: str) -> None:
    made = cluster.create(pod("one", **HELD))
    wrong = client.V1DeleteOptions(preconditions=client.V1Preconditions(**{what: "1"}))
    with pytest.raises(ApiException) as error:
        cluster.core.delete_namespaced_pod("one", "default", body=wrong)
    code, reason, message = refusal(error)
    assert (code, reason) == (409, "Conflict")
    assert "in the precondition (1) does not match" in message
    right = client.V1DeleteOptions(preconditions=client.V1Preconditions(uid=made.metadata.uid))
    cluster.core.delete_namespaced_pod("one", "default", body=right)


def test_a_pod_on_a_node_is_marked_first_and_can_only_go_sooner(cluster: Cluster) -> None:
    cluster.create(pod("one", **HELD))
    marked = cluster.core.delete_namespaced_pod("one", "default", grace_period_seconds=30)
    assert marked.metadata.deletion_grace_period_seconds == 30
    later = cluster.core.delete_namespaced_pod("one", "default", grace_period_seconds=60)
    assert later.metadata.deletion_timestamp == marked.metadata.deletion_timestamp
    cluster.core.delete_namespaced_pod("one", "default", grace_period_seconds=0)
    with pytest.raises(ApiException) as error:
        cluster.core.read_namespaced_pod("one", "default")
    assert error.value.status == 404


def test_a_collection_is_deleted_by_selector(cluster: Cluster) -> None:
    for name in ("one", "two"):
        cluster.create(pod(name, **HELD))
    cluster.core.delete_collection_namespaced_pod("default", label_selector="app=one", grace_period_seconds=0)
    assert [item.metadata.name for item in cluster.core.list_namespaced_pod("default").items] == ["two"]


def test_a_real_quota_counts_pods_that_have_not_ended(cluster: Cluster) -> None:
    quota = {"metadata": {"name": "two-pods"}, "spec": {"hard": {"pods": "2"}}}
    cluster.core.create_namespaced_resource_quota("default", quota)
    for name in ("one", "two"):
        cluster.create(pod(name, **HELD))
    with pytest.raises(ApiException) as error:
        cluster.create(pod("three", **HELD))
    assert refusal(error) == (
        403,
        "Forbidden",
        'pods "three" is forbidden: exceeded quota: two-pods, requested: pods=1, used: pods=2, limited: pods=2',
    )
    cluster.core.patch_namespaced_pod_status("one", "default", {"status": {"phase": "Failed"}})
    cluster.create(pod("three", **HELD))


def test_a_pod_that_leaves_the_selection_is_deleted_for_the_watcher(cluster: Cluster) -> None:
    """This is how a scheduler learns that another one adopted its pod: DELETED, without a deletion time."""
    cluster.create(pod("one", **HELD))
    seen = Watching(cluster.core, label_selector="app=one")
    seen.wait_for(lambda events: len(events) == 1)
    cluster.core.patch_namespaced_pod("one", "default", {"metadata": {"labels": {"app": "other"}}})
    added, deleted = seen.wait_for(lambda events: len(events) == 2)
    assert (added["type"], deleted["type"]) == ("ADDED", "DELETED")
    assert deleted["object"]["metadata"]["labels"] == {"app": "one"}
    assert "deletionTimestamp" not in deleted["object"]["metadata"]
    assert int(deleted["object"]["metadata"]["resourceVersion"]) > int(added["object"]["metadata"]["resourceVersion"])


def test_a_watch_goes_on_from_a_version(cluster: Cluster) -> None:
    cluster.create(pod("one", **HELD))
    version = cluster.core.list_namespaced_pod("default").metadata.resource_version
    cluster.create(pod("two", **HELD))
    seen = Watching(cluster.core, resource_version=version, timeout_seconds=1)
    seen.wait_end()
    assert [event["object"]["metadata"]["name"] for event in seen.events] == ["two"]


def test_a_watch_from_a_forgotten_version_gets_an_error_event(cluster: Cluster) -> None:
    cluster.create(pod("one", **HELD))
    old = cluster.core.list_namespaced_pod("default").metadata.resource_version
    cluster.create(pod("two", **HELD))
    cluster.running.call(cluster.running.standin.store.compact)
    with pytest.raises(ApiException) as error:
        list(watch.Watch().stream(cluster.core.list_namespaced_pod, "default", resource_version=old, timeout_seconds=5))
    assert error.value.status == 410
    assert "too old resource version" in error.value.reason


def test_the_window_forgets_on_its_own(make_cluster) -> None:
    cluster = make_cluster(window=5)
    old = cluster.core.list_namespaced_pod("default").metadata.resource_version
    cluster.create(pod("one", **HELD))
    for number in range(12):
        cluster.core.patch_namespaced_pod("one", "default", {"metadata": {"labels": {"n": str(number)}}})
    seen = Watching(cluster.core, resource_version=old)
    seen.wait_end()
    assert seen.error.status == 410


def test_bookmarks_tell_how_far_an_idle_watch_has_come(make_cluster) -> None:
    cluster = make_cluster(bookmark_every=0.05)
    cluster.create(pod("one", **HELD))
    version = cluster.version
    seen = Watching(cluster.core, label_selector="app=none", allow_watch_bookmarks=True)
    first = seen.wait_for(lambda events: len(events) >= 2)[0]
    assert first["type"] == "BOOKMARK"
    assert first["object"]["metadata"]["resourceVersion"] >= version


def test_a_watch_without_bookmarks_ends_in_time(cluster: Cluster) -> None:
    seen = Watching(cluster.core, timeout_seconds=1)
    seen.wait_end()
    assert (seen.events, seen.error) == ([], None)
    ends = [entry["watch_end"] for entry in cluster.history("api.answer") if "watch_end" in entry]
    assert ends == ["timeout"]


def test_lists_know_old_and_future_versions(cluster: Cluster) -> None:
    cluster.create(pod("one", **HELD))
    listed = cluster.core.list_namespaced_pod("default", resource_version="0")
    assert len(listed.items) == 1
    with pytest.raises(ApiException) as error:
        cluster.core.list_namespaced_pod("default", resource_version="1", resource_version_match="Exact")
    assert refusal(error)[:2] == (410, "Expired")
    with pytest.raises(ApiException) as error:
        cluster.core.list_namespaced_pod(
            "default", resource_version="999999999", resource_version_match="NotOlderThan", _request_timeout=5
        )
    assert refusal(error)[:2] == (504, "Timeout")


def test_who_asks_is_known_by_the_kubeconfig(cluster: Cluster) -> None:
    cluster.core.list_namespaced_pod("default")
    assert {entry["user"] for entry in cluster.history("api.request")} == {"lab"}
