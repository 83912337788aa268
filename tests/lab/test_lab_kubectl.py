"""The stand-in with the real kubectl."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Callable
from typing import Any

import pytest
from lab_cluster import PATIENCE, Cluster, pod

Kubectl = Callable[..., str]


@pytest.fixture
def run(cluster: Cluster, kubectl: str, monkeypatch: pytest.MonkeyPatch) -> Kubectl:
    monkeypatch.setenv("KUBECONFIG", str(cluster.kubeconfig))
    monkeypatch.setenv("HOME", str(cluster.folder))

    def call(*arguments: str, given: Any = None, fails: bool = False) -> str:
        text = None if given is None else json.dumps(given)
        done = subprocess.run(
            [kubectl, *arguments], input=text, capture_output=True, text=True, timeout=PATIENCE, check=False
        )
        assert (done.returncode != 0) is fails, done.stderr
        return done.stderr if fails else done.stdout

    return call


def words(table: str) -> list[list[str]]:
    return [line.split() for line in table.splitlines()]


def test_get_prints_tables(cluster: Cluster, run: Kubectl) -> None:
    run("create", "-f", "-", given=pod("one", "echo hello"))
    cluster.until_phase("one", "Succeeded")
    head, row = words(run("get", "pods", "-o", "wide"))
    assert head[:5] == ["NAME", "READY", "STATUS", "RESTARTS", "AGE"]
    assert row[:4] == ["one", "0/1", "Completed", "0"]
    assert row[6] == "lab-node-1"
    assert words(run("get", "nodes"))[1][:2] == ["lab-node-1", "Ready"]
    assert words(run("get", "po,cm", "-l", "app=one", "--no-headers"))[0][0] == "pod/one"
    assert "Started" in run("get", "events", "--field-selector", "involvedObject.name=one")
    assert json.loads(run("get", "pod", "one", "-o", "json"))["status"]["phase"] == "Succeeded"


def test_logs_and_describe(cluster: Cluster, run: Kubectl) -> None:
    run("apply", "-f", "-", given=pod("one", "echo hello; sleep 0.1; echo again"))
    assert run("logs", "--follow", "--pod-running-timeout=20s", "one") == "hello\nagain\n"
    cluster.until_phase("one", "Succeeded")
    told = run("describe", "pod", "one")
    assert "Successfully assigned default/one to lab-node-1" in told
    assert "Exit Code:    0" in told


def test_get_watches(cluster: Cluster, kubectl: str, run: Kubectl) -> None:
    run("create", "-f", "-", given=pod("one", nodeName="no-such-node"))
    command = [kubectl, "get", "pods", "-w", "--no-headers"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().split()[:3] == ["one", "0/1", "Pending"]
        run("patch", "pod", "one", "--subresource=status", "-p", '{"status":{"phase":"Running"}}')
        assert process.stdout.readline().split()[:3] == ["one", "0/1", "Running"]
        run("delete", "pod", "one", "--now", "--wait=false")
        assert process.stdout.readline().split()[:3] == ["one", "0/1", "Terminating"]
        process.terminate()


def test_changes(cluster: Cluster, run: Kubectl) -> None:
    body = pod("one", "exec sleep 60")
    run("apply", "-f", "-", given=body)
    run("wait", "--for=condition=Ready", "pod/one", "--timeout=15s")
    run("label", "pod", "one", "color=blue")
    run("annotate", "pod", "one", "note=x")
    body["metadata"]["labels"]["app"] = "changed"
    assert "configured" in run("apply", "-f", "-", given=body)
    found = cluster.core.read_namespaced_pod("one", "default").metadata
    assert found.labels == {"app": "changed", "color": "blue"}
    assert found.annotations["note"] == "x"
    run("create", "-f", "-", given=quota())
    assert "exceeded quota: none-left" in run("create", "-f", "-", given=pod("two"), fails=True)
    assert "AlreadyExists" in run("create", "-f", "-", given=quota(), fails=True)


def quota() -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "ResourceQuota",
        "metadata": {"name": "none-left"},
        "spec": {"hard": {"pods": "1"}},
    }


def test_deletion_waits_until_the_pod_is_gone(cluster: Cluster, run: Kubectl) -> None:
    run("apply", "-f", "-", given=pod("one", "exec sleep 60"))
    cluster.until_phase("one", "Running")
    run("delete", "pod", "one")
    assert cluster.core.list_namespaced_pod("default").items == []
    assert "NotFound" in run("delete", "pod", "one", fails=True)


def test_a_drain(cluster: Cluster, run: Kubectl) -> None:
    run("apply", "-f", "-", given=pod("one", "exec sleep 60"))
    cluster.until_phase("one", "Running")
    assert "drained" in run("drain", "lab-node-1", "--force")
    assert words(run("get", "nodes"))[1][1] == "Ready,SchedulingDisabled"
    run("uncordon", "lab-node-1")
    assert cluster.core.list_namespaced_pod("default").items == []


def test_what_there_is(run: Kubectl) -> None:
    listed = {row[0] for row in words(run("api-resources", "--no-headers"))}
    assert listed >= {"pods", "events", "configmaps", "namespaces", "nodes", "resourcequotas"}
    assert "v1.36" in run("version", "-o", "json")
