"""Task instances made by hand, rendered and run in this process."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests_common import across_versions
from tests_common.across_versions import run_task_instance
from tests_common.test_utils.version_compat import AIRFLOW_V_3_0_PLUS, AIRFLOW_V_3_2_PLUS

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

__all__ = ["add_rendering", "create_task_instance", "get_template_context", "run_task_instance"]


def create_task_instance(
    task: Any, *, dag_version_id: Any = None, run_id: str | None = None, state: str | None = None, map_index: int = -1
) -> Any:
    """Return a new task instance of ``task``, not stored."""
    from airflow.models.taskinstance import TaskInstance

    arguments: dict[str, Any] = {"run_id": run_id, "state": state, "map_index": map_index}
    if AIRFLOW_V_3_0_PLUS:
        arguments["dag_version_id"] = dag_version_id
    return TaskInstance(task, **arguments)


def get_template_context(ti: Any, task: Any, *, session: Session | None = None) -> Any:
    """Return the context that ``task`` would be rendered with."""
    if AIRFLOW_V_3_2_PLUS:
        return across_versions.runtime_task_instance(ti, task).get_template_context()
    ti.refresh_from_task(task)
    return ti.get_template_context(session=session)


def add_rendering(ti: Any, task: Any) -> None:
    """Let a stored task instance render its task; from 3.2 on only the worker's kind can do so by itself."""
    if AIRFLOW_V_3_2_PLUS:
        ti.render_templates = lambda: _render(ti, task)


def _render(ti: Any, task: Any) -> Any:
    runtime_ti = across_versions.runtime_task_instance(ti, task)
    runtime_ti.render_templates()
    return runtime_ti.task
