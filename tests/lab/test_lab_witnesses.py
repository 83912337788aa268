"""What writes the parts of a history that the cluster cannot tell: the row trigger, the gateway, user code."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING

import psycopg
import pytest
import requests
from aiohttp import web
from lab_cluster import fast

from launchguard.errors import LaunchguardError
from launchguard.lab.airflow import rowlog
from launchguard.lab.airflow.database import database_name, fresh_database
from launchguard.lab.airflow.gateway import Gateway
from launchguard.lab.airflow.rowlog import RowLog
from launchguard.lab.evidence import answers_of, code_of, rows_of
from launchguard.lab.history import History, read_history
from launchguard.lab.launches import launches_of
from launchguard.lab.standin import running
from launchguard.postgres import postgres_server

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# One PostgreSQL server is enough.
pytestmark = pytest.mark.xdist_group("lab-postgres")
TABLE = """
CREATE TABLE task_instance (id uuid PRIMARY KEY, task_id text, run_id text, map_index int, try_number int, state text,
    external_executor_id text, queued_by_job_id int, hostname text, pid int, queued_dttm timestamptz,
    last_heartbeat_at timestamptz)
"""
ID = "00000000-0000-0000-0000-00000000000{}".format


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """Give a server and the name of a database on it with the table and its trigger."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
        with postgres_server() as server, fresh_database(server) as url:
            with psycopg.connect(url, autocommit=True) as connection:
                connection.execute(TABLE)
            rowlog.install(url)
            yield server, database_name(url)


@pytest.fixture
def database(template: tuple[str, str]) -> Iterator[str]:
    with fresh_database(*template) as url:
        yield url


@pytest.fixture
def rows(database: str) -> Iterator[RowLog]:
    log = RowLog(database)
    yield log
    log.close()


def change(database: str, who: str, *statements: str) -> None:
    with psycopg.connect(database, application_name=who, autocommit=True) as connection:
        for statement in statements:
            connection.execute(statement)


def live(database: str) -> None:
    """Have a row live through a launch, a clear and a second launch."""
    change(
        database,
        "scheduler-a",
        f"INSERT INTO task_instance VALUES ('{ID(1)}', 'work', 'r', -1, 1, NULL)",
        "UPDATE task_instance SET state = 'scheduled'",
        "UPDATE task_instance SET state = 'queued', external_executor_id = 'one', queued_by_job_id = 3",
        "UPDATE task_instance SET last_heartbeat_at = now()",
    )
    change(database, "api-server", f"UPDATE task_instance SET id = '{ID(2)}', state = NULL, try_number = 2")
    change(database, "scheduler-b", "UPDATE task_instance SET state = 'queued', external_executor_id = 'two'")
    change(database, "api-server", "UPDATE task_instance SET state = 'running', hostname = 'pod-b', pid = 7")


def test_each_change_of_a_row_is_told_with_who_made_it(database: str, rows: RowLog, tmp_path: Path) -> None:
    history = History(tmp_path / "history.jsonl", "lab")
    rows.begin()
    history.record("before")
    live(database)
    history.record("after")
    rows.copy("r", history)
    records = list(read_history(tmp_path / "history.jsonl"))
    told = [one for one in records if one["kind"] == "ti.row"]
    assert [(one["op"], one["state"], one["who"]) for one in told] == [
        ("INSERT", None, "scheduler-a"),
        ("UPDATE", "scheduled", "scheduler-a"),
        ("UPDATE", "queued", "scheduler-a"),
        ("UPDATE", None, "api-server"),
        ("UPDATE", "queued", "scheduler-b"),
        ("UPDATE", "running", "api-server"),
    ]
    first, last = (next(one["t"] for one in records if one["kind"] == kind) for kind in ("before", "after"))
    slack = 20_000_000
    assert first - slack < told[0]["t"] <= told[-1]["t"] < last + slack
    one, two = launches_of(rows_of(records))
    assert (one.ti, one.token, one.who, one.ended_as) == (ID(1), "one", "scheduler-a", "cleared")
    assert (two.ti, two.token, two.who, two.started_by, two.over) == (ID(2), "two", "scheduler-b", "pod-b", None)
    assert records[-1] | {"count": 6, "kind": "ti.rows-end"} == records[-1]


def test_what_a_scenario_asks_of_the_rows(database: str, rows: RowLog) -> None:
    live(database)
    assert rows.count("r", "work", "queued") == 2
    assert rows.count("r", "work", "nosuch") == rows.count("other", "work", "queued") == 0
    assert rows.last_queued_by("r", "work") == "scheduler-b"
    assert rows.last_queued_by("r", "other") == ""
    assert rows.states("r") == ["running"]
    change(database, "x", "UPDATE task_instance SET state = 'queued', map_index = 4")
    assert rows.queued("r", "work") == [4]


def test_a_deleted_row_and_a_rolled_back_change(database: str, rows: RowLog, tmp_path: Path) -> None:
    live(database)
    with psycopg.connect(database) as connection:
        connection.execute("UPDATE task_instance SET state = 'failed'")
        connection.rollback()
    change(database, "x", "DELETE FROM task_instance")
    rows.copy("r", History(tmp_path / "history.jsonl", "lab"))
    told = rows_of(list(read_history(tmp_path / "history.jsonl")))
    assert [(row.op, row.state) for row in told[-2:]] == [("UPDATE", "running"), ("DELETE", "running")]


def test_a_clock_that_was_stepped_is_no_evidence(rows: RowLog, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    rows.begin()
    true = RowLog._clock_offset
    monkeypatch.setattr(RowLog, "_clock_offset", lambda self: true(self) + 200_000_000)
    with pytest.raises(LaunchguardError, match=r"clock moved by 0\.2"):
        rows.copy("r", History(tmp_path / "history.jsonl", "lab"))


# The gateway


async def _answer(request: web.Request) -> web.Response:
    body = await request.json() if request.can_read_body else None
    if request.path.endswith("/ti-1/run"):
        return web.json_response({"it": "runs"}, headers={"Refreshed-API-Token": "new"})
    if request.path.endswith("/run"):
        detail = {"reason": "not_found", "message": "Task Instance not found"}
        return web.json_response({"detail": detail}, status=404)
    about = {"path": request.path_qs, "auth": request.headers.get("Authorization"), "body": body}
    return web.json_response(about)


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[str]:
    """Give the URL of a gateway before a server that knows one task instance."""
    history = History(tmp_path / "history.jsonl", "lab")
    app = web.Application()
    app.router.add_route("*", "/{path:.*}", _answer)
    with running(tmp_path, fast()) as cluster:
        runner = web.AppRunner(app, access_log=None)

        async def serve() -> int:
            await runner.setup()
            await web.TCPSite(runner, "127.0.0.1", 0).start()
            return int(runner.addresses[0][1])

        proxy = Gateway(f"http://127.0.0.1:{cluster.wait(serve())}", history)
        cluster.wait(proxy.listen(0))
        yield proxy.url
        cluster.wait(proxy.close())
        cluster.wait(runner.cleanup())
    history.close()


def test_the_gateway_tells_who_asked_and_what_was_answered(gateway: str, tmp_path: Path) -> None:
    base = f"{gateway}/execution/task-instances"
    asked = {"hostname": "pod-a", "pid": 7, "external_executor_id": "one"}
    started = requests.patch(f"{base}/ti-1/run", json=asked, timeout=9)
    assert (started.status_code, started.headers["Refreshed-API-Token"]) == (200, "new")
    assert requests.patch(f"{base}/ti-9/run", json={"hostname": "pod-b"}, timeout=9).status_code == 404
    requests.patch(f"{base}/ti-1/state", json={"state": "success"}, timeout=9)
    first, second, third = answers_of(list(read_history(tmp_path / "history.jsonl")))
    assert (first.call, first.ti, first.pod, first.code, first.token) == ("run", "ti-1", "pod-a", 200, "one")
    assert (second.pod, second.code, second.reason) == ("pod-b", 404, "not_found")
    assert (third.call, third.pod, third.state) == ("state", "pod-a", "success")


def test_the_gateway_passes_everything_on_and_notes_nothing_else(gateway: str, tmp_path: Path) -> None:
    url = f"{gateway}/execution/xcoms/a%2Fb?key=1"
    answer = requests.put(url, json={"v": 1}, headers={"Authorization": "Bearer x"}, timeout=9).json()
    assert answer == {"path": "/execution/xcoms/a%2Fb?key=1", "auth": "Bearer x", "body": {"v": 1}}
    assert not answers_of(list(read_history(tmp_path / "history.jsonl")))


def test_a_worker_sees_its_connection_end_where_there_is_no_server(tmp_path: Path) -> None:
    history = History(tmp_path / "history.jsonl", "lab")
    with running(tmp_path, fast()) as cluster:
        proxy = Gateway("http://127.0.0.1:9", history)
        cluster.wait(proxy.listen(0))
        with pytest.raises(requests.ConnectionError):
            requests.patch(f"{proxy.url}/execution/task-instances/ti-1/run", json={"hostname": "a"}, timeout=9)
        cluster.wait(proxy.close())
    history.close()
    (answer,) = answers_of(list(read_history(tmp_path / "history.jsonl")))
    assert (answer.pod, answer.code) == ("a", None)


# User code


def test_user_code_writes_its_own_lines(tmp_path: Path) -> None:
    program = (
        "import types, launchguard_lab_site as site\n"
        "ti = types.SimpleNamespace(id='ti-1', task_id='work', run_id='r', map_index=None, try_number=2)\n"
        "with site.user_code('execute', ti): print('ran')\n"
    )
    path = tmp_path / "history.jsonl"
    folder = rowlog.__file__.replace("rowlog.py", "site")
    env = {"PYTHONPATH": folder, "HOSTNAME": "pod-a", "LAUNCHGUARD_LAB_HISTORY": str(path)}
    subprocess.run([sys.executable, "-c", program], env=env, check=True)
    records = [json.loads(line) for line in path.read_text().splitlines()]
    assert [one["seq"] for one in records] == [1, 2]
    (code,) = code_of(records)
    assert (code.task, code.ti, code.try_number, code.part, code.pod) == ("work", "ti-1", 2, "execute", "pod-a")
    assert code.ended is not None
