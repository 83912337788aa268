"""The history of task instances' rows: a trigger in the database writes it, the lab copies it into its own."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

import psycopg

from launchguard.errors import cannot_tell
from launchguard.lab.airflow.database import OWN_NAME
from launchguard.lab.history import Kind

if TYPE_CHECKING:
    from launchguard.lab.history import History

SECOND: Final = 1_000_000_000
# A wall clock that moved by more, while a scenario ran, was stepped.
TOLERANCE: Final = SECOND // 10

_INSTALL: Final = """
CREATE TABLE launchguard_rows (
    seq bigserial PRIMARY KEY, at timestamptz NOT NULL DEFAULT clock_timestamp(),
    who text NOT NULL DEFAULT current_setting('application_name'), op text NOT NULL,
    ti text, old_ti text, task_id text, run_id text, map_index int, try int,
    state text, old_state text, token text, job int, hostname text
);
CREATE FUNCTION launchguard_note_row() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    kept record := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
    INSERT INTO launchguard_rows
        (op, ti, old_ti, task_id, run_id, map_index, try, state, old_state, token, job, hostname)
    VALUES (
        TG_OP, kept.id::text, CASE WHEN TG_OP = 'INSERT' THEN NULL ELSE OLD.id::text END, kept.task_id, kept.run_id,
        kept.map_index, kept.try_number, kept.state, CASE WHEN TG_OP = 'INSERT' THEN NULL ELSE OLD.state END,
        kept.external_executor_id, kept.queued_by_job_id, kept.hostname);
    RETURN NULL;
END $$;
CREATE TRIGGER launchguard_came_or_went AFTER INSERT OR DELETE ON task_instance
    FOR EACH ROW EXECUTE FUNCTION launchguard_note_row();
CREATE TRIGGER launchguard_changed AFTER UPDATE ON task_instance FOR EACH ROW
    WHEN ((OLD.id, OLD.state, OLD.try_number, OLD.external_executor_id, OLD.queued_by_job_id, OLD.hostname, OLD.pid)
        IS DISTINCT FROM
          (NEW.id, NEW.state, NEW.try_number, NEW.external_executor_id, NEW.queued_by_job_id, NEW.hostname, NEW.pid))
    EXECUTE FUNCTION launchguard_note_row();
"""

_READ: Final = (
    "SELECT (extract(epoch FROM at) * 1000000)::bigint, seq, op, ti, old_ti, task_id, map_index, try, state,"
    " old_state, token, job, hostname, who FROM launchguard_rows WHERE run_id = %s ORDER BY seq"
)
_FIELDS: Final = (
    *("op", "ti", "old_ti", "task_id", "map_index", "try", "state", "old_state", "token", "job", "hostname", "who"),
)


def install(url: str) -> None:
    """Have the database note each change of a task instance's row, with the connection's `application_name`."""
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(_INSTALL)


class RowLog:
    """Reads what the trigger noted. One connection for as long as a deployment lives.

    Args:
        url: of the deployment's database.
    """

    def __init__(self, url: str) -> None:
        self.url = url
        self._connection = psycopg.connect(url, autocommit=True, application_name=OWN_NAME)
        self._offset = self._clock_offset()

    def close(self) -> None:
        self._connection.close()

    def begin(self) -> None:
        """Note how the database's clock stands to the history's."""
        self._offset = self._clock_offset()

    def copy(self, run_id: str, history: History) -> None:
        """Write a run's row changes into the history, on its clock.

        Raises:
            LaunchguardError: the database's clock was stepped since `begin`.
        """
        drift = self._clock_offset() - self._offset
        if abs(drift) > TOLERANCE:
            raise cannot_tell(f"the database's clock moved by {drift / SECOND:.3f} s while the scenario ran")
        rows = self._connection.execute(_READ, (run_id,)).fetchall()
        for micros, number, *values in rows:
            fields = dict(zip(_FIELDS, values, strict=True))
            history.copy_record(micros * 1000 - self._offset, Kind.ROW, number=number, run_id=run_id, **fields)
        history.record(Kind.ROWS, count=len(rows), run_id=run_id)

    def count(self, run_id: str, task_id: str, state: str) -> int:
        """Give how often task instances of a task became `state` in a run."""
        query = (
            "SELECT count(*) FROM launchguard_rows WHERE run_id = %s AND task_id = %s AND state = %s"
            " AND (old_state IS DISTINCT FROM state OR ti IS DISTINCT FROM old_ti)"
        )
        found = self._connection.execute(query, (run_id, task_id, state)).fetchone()
        return int(found[0]) if found else 0

    def last_queued_by(self, run_id: str, task_id: str) -> str:
        """Name the component that queued a task's newest launch; empty if none has."""
        query = (
            "SELECT who FROM launchguard_rows WHERE run_id = %s AND task_id = %s AND state = 'queued'"
            " AND old_state IS DISTINCT FROM state ORDER BY seq DESC LIMIT 1"
        )
        found = self._connection.execute(query, (run_id, task_id)).fetchone()
        return str(found[0]) if found else ""

    def queued(self, run_id: str, task_id: str) -> list[int]:
        """Give the map indexes of a task's instances that are queued, those that wait longest first."""
        query = (
            "SELECT map_index FROM task_instance WHERE run_id = %s AND task_id = %s AND state = 'queued'"
            " ORDER BY queued_dttm"
        )
        return [int(index) for (index,) in self._connection.execute(query, (run_id, task_id)).fetchall()]

    def states(self, run_id: str) -> list[str]:
        """Give the states in which a run's task instances are now."""
        rows = self._connection.execute("SELECT state FROM task_instance WHERE run_id = %s", (run_id,)).fetchall()
        return [state or "" for (state,) in rows]

    def _clock_offset(self) -> int:
        """Give what the database's clock is ahead of the history's, in nanoseconds: the best of a few readings."""
        best = (SECOND, 0)
        for _ in range(5):
            before = time.monotonic_ns()
            row = self._connection.execute(
                "SELECT (extract(epoch FROM clock_timestamp()) * 1000000)::bigint"
            ).fetchone()
            after = time.monotonic_ns()
            wall = int(row[0]) * 1000 if row else 0
            best = min(best, (after - before, wall - (before + after) // 2))
        return best[1]
