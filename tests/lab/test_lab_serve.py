"""The stand-in as a process of its own, and its control endpoint."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
import requests
from kubernetes import client, config
from kubernetes.client.exceptions import ApiException
from lab_cluster import PATIENCE, pod

from launchguard.lab.history import read_history
from launchguard.lab.sessions import session_members

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


@dataclass
class Served:
    folder: Path
    process: subprocess.Popen[str]
    control: str

    def post(self, path: str, body: Any) -> requests.Response:
        return requests.post(self.control + path, json=body, timeout=PATIENCE)

    def get(self, path: str) -> Any:
        return requests.get(self.control + path, timeout=PATIENCE).json()


@contextlib.contextmanager
def serving(tmp_path: Path) -> Iterator[Served]:
    plan = tmp_path / "plan.json"
    plan.write_text(
        json.dumps({"rules": [{"id": "first", "action": "quota", "match": {"verbs": ["create"]}, "count": 1}]})
    )
    command = [
        sys.executable,
        "-m",
        "launchguard.lab.serve",
        "--dir",
        str(tmp_path),
        "--plan",
        str(plan),
        "--user",
        "b",
    ]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("ready api=http://127.0.0.1:"), line
            yield Served(tmp_path, process, json.loads((tmp_path / "standin.json").read_text())["control"])
        finally:
            process.terminate()
            process.wait(PATIENCE)


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with serving(tmp_path_factory.mktemp("served")) as served:
        yield served


@pytest.fixture
def served(tmp_path: Path) -> Iterator[Served]:
    with serving(tmp_path) as made:
        yield made


def test_a_run_from_start_to_end(served: Served) -> None:
    with config.new_client_from_config(str(served.folder / "kubeconfig-b")) as api:
        core = client.CoreV1Api(api)
        with pytest.raises(ApiException, match="exceeded quota"):
            core.create_namespaced_pod("default", pod("one"))
        core.create_namespaced_pod("default", pod("one", "trap '' TERM; echo up; while :; do sleep 0.05; done"))
        follow = core.read_namespaced_pod_log
        # The pod may not have started: asking for its log is refused until then.
        await_log(follow)
        assert served.get("/state")["fired"] == {"quota": 1}
        assert served.get("/state")["pods"] == {"Running": 1}
    (pid,) = [entry["pid"] for entry in history(served) if entry["kind"] == "process.start"]
    assert os.getsid(pid) == pid
    served.process.send_signal(signal.SIGTERM)
    assert served.process.wait(PATIENCE) == 0
    assert session_members(pid) == []
    assert {entry["user"] for entry in history(served) if entry["kind"] == "api.request"} == {"b"}
    assert not [entry for entry in history(served) if entry["kind"] == "bug"]


def await_log(read_log: Any) -> None:
    while True:
        try:
            answer = read_log("one", "default", follow=True, _preload_content=False)
        except ApiException as error:
            if "waiting to start" not in str(error.body):
                raise
            continue
        assert next(answer.stream()) == b"up\n"
        answer.close()
        return


def history(served: Served) -> list[dict[str, Any]]:
    return list(read_history(served.folder / "history.jsonl"))


def test_rules_and_commands_over_http(shared: Served) -> None:
    rule = {"id": "slow", "action": "slow-start", "params": {"seconds": 9}}
    assert shared.post("/faults", rule).status_code == 200
    assert [(one["rule"]["id"], one["state"]) for one in shared.get("/faults")] == [
        ("first", "active"),
        ("slow", "active"),
    ]
    assert requests.delete(f"{shared.control}/faults/slow", timeout=PATIENCE).json()["fired"] == 0
    assert shared.post("/commands", {"do": "api-down"}).status_code == 200
    assert shared.get("/state")["listening"] is False
    assert shared.post("/commands", {"do": "api-up"}).status_code == 200
    assert shared.get("/state")["listening"] is True


@pytest.mark.parametrize(
    ("path", "body", "code", "message"),
    [
        ("/faults", {"id": "x", "action": "nonsense"}, 400, "nonsense"),
        ("/faults", {"id": "first", "action": "slow"}, 400, "armed already"),
        ("/commands", {"do": "drain"}, 400, "node"),
        ("/commands", {"do": "drain", "node": "none"}, 404, 'nodes "none" not found'),
        ("/commands", {"do": "oom-kill", "pod": "none"}, 400, "no node runs a pod default/none"),
    ],
)
def test_mistakes_are_explained(shared: Served, path: str, body: Any, code: int, message: str) -> None:
    answer = shared.post(path, body)
    assert answer.status_code == code
    assert message in answer.json()["error"]


def test_settings_with_a_mistake_are_one_line(tmp_path: Path) -> None:
    settings = tmp_path / "settings.json"
    settings.write_text('{"kubelet": {"pods_per_nod": 3}}')
    command = [sys.executable, "-m", "launchguard.lab.serve", "--dir", str(tmp_path), "--settings", str(settings)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1
    assert "pods_per_nod" in done.stderr
