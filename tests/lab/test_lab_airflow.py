"""The parts that run Airflow, without Airflow: processes and their faults, settings, database."""

from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import psutil
import psycopg
import pytest
from lab_cluster import PATIENCE

from launchguard.errors import LaunchguardError
from launchguard.lab.airflow.component import Component
from launchguard.lab.airflow.database import airflow_url, cut_connections, fresh_database
from launchguard.lab.airflow.environment import Site, control_env, worker_image, write_pod_template
from launchguard.lab.airflow.rest import wait_until
from launchguard.lab.history import History, read_history
from launchguard.lab.sessions import session_members
from launchguard.postgres import postgres_server

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

WITH_A_CHILD = """
import subprocess, sys
child = subprocess.Popen(["sleep", "60"])
print("up", flush=True)
child.wait()
"""


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[[str], Component]]:
    history = History(tmp_path / "history.jsonl", "lab")
    made = []

    def maker(script: str) -> Component:
        command = [sys.executable, "-c", script]
        made.append(Component("it", command, {"PATH": "/usr/bin:/bin"}, log=tmp_path / "it.log", history=history))
        made[-1].start()
        return made[-1]

    yield maker
    for component in made:
        component.kill()
    history.close()


def until(done: Callable[[], bool], component: Component) -> None:
    wait_until("it", done, within=PATIENCE, check=component.check)


def is_up(component: Component) -> bool:
    return "up" in component.log.read_text()


def states(component: Component) -> set[str]:
    return {psutil.Process(pid).status() for pid in session_members(component.pid or 0)}


def test_a_component_is_frozen_and_killed_with_its_children(make: Callable[[str], Component]) -> None:
    component = make(WITH_A_CHILD)
    until(lambda: is_up(component), component)
    assert len(session_members(component.pid)) == 2
    component.pause()
    until(lambda: states(component) == {psutil.STATUS_STOPPED}, component)
    component.resume()
    until(lambda: psutil.STATUS_STOPPED not in states(component), component)
    session = component.pid
    component.kill()
    assert not component.running
    assert session_members(session) == []


def test_a_component_that_ended_by_itself_is_told_with_its_log(make: Callable[[str], Component]) -> None:
    component = make("print('the reason'); raise SystemExit(3)")
    wait_until("its end", lambda: not component.running, within=PATIENCE, check=lambda: None)
    with pytest.raises(LaunchguardError, match=r"(?s)it has ended \(3\).*the reason"):
        component.check()


def test_a_component_can_be_ended_and_started_again(make: Callable[[str], Component], tmp_path: Path) -> None:
    component = make(WITH_A_CHILD)
    until(lambda: is_up(component), component)
    component.stop()
    assert not component.running
    component.start()
    assert component.running
    kinds = [entry["kind"] for entry in read_history(tmp_path / "history.jsonl")]
    assert kinds.count("process.start") == 2
    assert "process.exit" in kinds


def test_waiting_has_an_end_and_says_what_was_wrong() -> None:
    def broken() -> bool:
        raise LaunchguardError("not yet")

    with pytest.raises(LaunchguardError, match=r"the start took more than 0\.1 s; last: not yet"):
        wait_until("the start", broken, within=0.1, check=lambda: None)


@pytest.fixture
def site(tmp_path: Path) -> Site:
    settings = {"AIRFLOW__SCHEDULER__TASK_QUEUED_TIMEOUT": "20", "AIRFLOW__DATABASE__SQL_ALCHEMY_POOL_SIZE": "3"}
    return Site(tmp_path, tmp_path / "dags", "postgresql+psycopg2://me@/db", 8080, 8081, settings=settings)


def test_workers_do_not_know_the_database(site: Site, tmp_path: Path) -> None:
    control, worker = (
        control_env(site, tmp_path / "venv", tmp_path / "kubeconfig-a", "scheduler-a"),
        worker_image(site, tmp_path / "venv").env,
    )
    assert control["PGAPPNAME"] == "scheduler-a"
    assert worker["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] == "http://127.0.0.1:8081/execution/"
    assert control["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] == "postgresql+psycopg2://me@/db"
    assert not [name for name in worker if "DATABASE" in name or "SECRET" in name]
    assert worker["AIRFLOW__SCHEDULER__TASK_QUEUED_TIMEOUT"] == "20"
    assert worker["PATH"].startswith(str(tmp_path / "venv" / "bin"))


def test_processes_share_secrets_but_not_the_temporary_folder(site: Site, tmp_path: Path) -> None:
    one, two = (control_env(site, tmp_path / "venv", tmp_path / f"kubeconfig-{name}") for name in "ab")
    assert one["AIRFLOW__API_AUTH__JWT_SECRET"] == two["AIRFLOW__API_AUTH__JWT_SECRET"]
    assert one["TMPDIR"] != two["TMPDIR"]
    assert site.jwt_secret not in repr(site)


def test_the_pod_template_names_the_image(site: Site) -> None:
    write_pod_template(site)
    assert f'"image": "{site.image}"' in site.pod_template.read_text()


def test_the_host_name_of_a_pod_is_its_name(site: Site, tmp_path: Path) -> None:
    env = worker_image(site, tmp_path / "venv").env | {"HOSTNAME": "pod-1"}
    program = "import launchguard_lab_site as site; print(site.pod_hostname())"
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, check=True)
    assert done.stdout == "pod-1\n"


def test_a_database_of_its_own_whose_connections_can_be_cut(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with postgres_server() as server, fresh_database(server) as url:
        assert airflow_url(url).startswith("postgresql+psycopg2://")
        with psycopg.connect(url, autocommit=True) as connection:
            connection.execute("CREATE TABLE t (n int)")
            assert cut_connections(url) == 1
            with pytest.raises(psycopg.OperationalError):
                connection.execute("SELECT 1")
