"""The metadata database that Airflow is timed on: a big `task_instance` table, its newest runs queued."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, LiteralString

import psycopg
from psycopg import sql

from launchguard import console
from launchguard.errors import LaunchguardError
from launchguard.lab.airflow.database import airflow_url, fresh_database
from launchguard.process import run

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

ROWS: Final = 1_000_000
QUEUED: Final = 10_000
"""The newest run of each of 100 Dags with 100 tasks; the other runs are over."""
SCHEDULER_JOB: Final = 1

# A number makes an id as Airflow's are: version 7, which begins with the time, so that queued rows lie together.
_ID: Final[LiteralString] = (
    "(lpad(to_hex(1767225600000 + n * 600), 12, '0') || '7' || substr(md5(n::text), 1, 3)"
    " || '8' || substr(md5(n::text), 4, 15))::uuid"
)
_STEPS: Final[tuple[LiteralString, ...]] = (
    "INSERT INTO job (id, job_type, state, latest_heartbeat) VALUES ({job}, 'SchedulerJob', 'running', now())",
    "INSERT INTO dag_bundle (name, active) VALUES ('bench', true)",
    """INSERT INTO dag (dag_id, is_paused, is_stale, bundle_name, relative_fileloc, fileloc, owners, timetable_type,
        partition_mapper_info, max_active_tasks, max_consecutive_failed_dag_runs, has_task_concurrency_limits)
    SELECT 'dag_' || d, false, false, 'bench', 'dag.py', '/dags/dag.py', 'airflow', '', '{{}}', 16, 0, false
    FROM generate_series(0, 99) d""",
    """INSERT INTO dag_version (id, version_number, dag_id, bundle_name, created_at, last_updated)
    SELECT gen_random_uuid(), 1, dag_id, 'bench', now(), now() FROM dag""",
    """INSERT INTO dag_run (dag_id, run_id, run_type, state, run_after, logical_date, data_interval_start,
        data_interval_end, start_date, queued_at, log_template_id, created_dag_version_id)
    SELECT v.dag_id, 'scheduled__' || r, 'scheduled', CASE WHEN r = {runs} - 1 THEN 'running' ELSE 'success' END,
        t, t, t, t, t, t, (SELECT max(id) FROM log_template), v.id
    FROM generate_series(0, {runs} - 1) r, dag_version v,
        LATERAL (SELECT now() - ({runs} - r) * interval '1 h') x(t)""",
    """INSERT INTO task_instance (id, dag_id, task_id, run_id, map_index, state, try_number, max_tries, pool,
        pool_slots, queue, priority_weight, operator, queued_dttm, scheduled_dttm, start_date, end_date, duration,
        hostname, unixname, pid, last_heartbeat_at, updated_at, queued_by_job_id, external_executor_id, dag_version_id,
        task_display_name)
    SELECT """
    + _ID
    + """, v.dag_id, 'task_' || n / 100 % 100, 'scheduled__' || n / 10000, -1,
        CASE WHEN waits THEN 'queued' ELSE 'success' END, 1, 0, 'default_pool', 1, 'default', 1, 'PythonOperator', t, t,
        CASE WHEN NOT waits THEN t END, CASE WHEN NOT waits THEN t END, CASE WHEN NOT waits THEN 1 END,
        CASE WHEN waits THEN '' ELSE 'worker-' || n END, 'airflow', CASE WHEN NOT waits THEN 7 END,
        CASE WHEN NOT waits THEN t END, t, {job}, gen_random_uuid(), v.id, 'task_' || n / 100 % 100
    FROM generate_series(0, {rows} - 1) n
        JOIN dag_version v ON v.dag_id = 'dag_' || n % 100,
        LATERAL (SELECT n >= {rows} - {queued}, now() - ({rows} - n) * interval '0.6 s') x(waits, t)""",
    "ANALYZE",
    "CHECKPOINT",
)


@dataclass(frozen=True)
class Million:
    """A filled database.

    Args:
        url: for psycopg.
        rows: of task instances; the last `QUEUED` of them wait for a worker.
    """

    url: str
    rows: int

    @property
    def airflow_url(self) -> str:
        return airflow_url(self.url)

    def queued(self, first: int, count: int) -> list[str]:
        """Give the ids of some of the task instances that were made queued, by their place among those.

        Raises:
            LaunchguardError: there are not so many.
        """
        if first + count > QUEUED:
            raise LaunchguardError(f"only {QUEUED:,} task instances are queued: ask for fewer rounds")
        numbers = sql.SQL("SELECT " + _ID + " FROM generate_series({}, {}) n ORDER BY n").format(
            self.rows - QUEUED + first, self.rows - QUEUED + first + count - 1
        )
        with psycopg.connect(self.url) as connection:
            return [str(row[0]) for row in connection.execute(numbers)]


@contextlib.contextmanager
def million(server: str, airflow: Path, home: Path, rows: int = ROWS) -> Iterator[Million]:
    """Make the database, which is dropped at the end; about a minute for a million rows.

    Args:
        server: URL of the server's maintenance database.
        airflow: the `airflow` command that migrates it.
        home: a folder for what that command writes.
        rows: a multiple of `QUEUED`.
    """
    with fresh_database(server) as url:
        environment = {
            "PATH": os.environ.get("PATH", os.defpath),
            "HOME": str(home),
            "AIRFLOW_HOME": str(home),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": airflow_url(url),
        }
        with console.working("migrating the database"):
            run(airflow, "db", "migrate", cwd=home, env=environment)
        with console.working(f"filling the database with {rows:,} task instances"):
            fill(url, rows)
        yield Million(url, rows)


def fill(url: str, rows: int) -> None:
    """Fill a migrated database."""
    values = {"rows": rows, "runs": rows // QUEUED, "queued": QUEUED, "job": SCHEDULER_JOB}
    with psycopg.connect(url, autocommit=True) as connection:
        for step in _STEPS:
            connection.execute(sql.SQL(step).format(**values))
