"""Expansion of mapped tasks in the database."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sqlalchemy.orm import Session


def expand_mapped_task(mapped: Any, run_id: str, upstream_task_id: str, length: int, session: Session) -> None:
    """Record that the upstream task gave ``length`` values, and make the mapped task's instances."""
    from airflow.models.taskmap import TaskMap

    session.add(
        TaskMap(
            dag_id=mapped.dag_id,
            task_id=upstream_task_id,
            run_id=run_id,
            map_index=-1,
            length=length,
            keys=None,
        )
    )
    session.flush()
    TaskMap.expand_mapped_task(mapped, run_id, session=session)
