"""Worker's task instances without Dag file, API or supervisor (SDK 1.2 and later)."""

from __future__ import annotations

from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

import structlog
from airflow.sdk import DAG
from airflow.sdk.api.datamodels._generated import DagRun, DagRunState, TaskInstance, TIRunContext
from airflow.sdk.execution_time.comms import BundleInfo, StartupDetails
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance, run
from uuid6 import uuid7

if TYPE_CHECKING:
    from collections.abc import Callable

_A_DATE = "2024-12-01T01:00:00Z"
_DAG_START = datetime(2024, 12, 3, tzinfo=timezone.utc)


def task_in_dag(task: Any, dag_id: str) -> Any:
    """Return the task, put into a new Dag unless it is in one."""
    if not task.has_dag():
        dag = DAG(dag_id=dag_id, start_date=_DAG_START)
        task.dag = dag
        return dag.task_dict[task.task_id]
    return task


def startup_details(
    task: Any,
    *,
    dag_id: str,
    run_id: str = "test_run",
    run_type: str = "manual",
    logical_date: Any = _A_DATE,
    start_date: Any = _A_DATE,
    conf: dict[str, Any] | None = None,
    try_number: int = 1,
    map_index: int = -1,
    max_tries: int | None = None,
    should_retry: bool | None = None,
    task_reschedule_count: int = 0,
) -> StartupDetails:
    """Return what a supervisor would send for the task at its start."""
    task = task_in_dag(task, dag_id)
    context = TIRunContext(
        dag_run=DagRun(
            dag_id=task.dag.dag_id,
            run_id=run_id,
            run_type=run_type,
            state=DagRunState.RUNNING,
            logical_date=logical_date,
            data_interval_start=logical_date,
            data_interval_end=logical_date,
            run_after=logical_date or start_date,
            start_date=start_date,
            end_date=None,
            partition_key=None,
            conf=conf,
            consumed_asset_events=[],
        ),
        max_tries=task.retries if max_tries is None else max_tries,
        should_retry=try_number <= task.retries if should_retry is None else should_retry,
        task_reschedule_count=task_reschedule_count,
    )
    return StartupDetails(
        ti=TaskInstance(
            id=uuid7(),
            task_id=task.task_id,
            dag_id=task.dag.dag_id,
            run_id=run_id,
            try_number=try_number,
            map_index=map_index,
            dag_version_id=uuid7(),
        ),
        dag_rel_path="",
        bundle_info=BundleInfo(name="anything", version="any"),
        ti_context=context,
        start_date=start_date,
        sentry_integration="",
    )


def task_instance_at_startup(what: StartupDetails, dag_id: str, task: Any) -> RuntimeTaskInstance:
    """Return the task instance that the task runner makes of the startup details."""
    task = task_in_dag(task, dag_id)
    if conf := what.ti_context.dag_run.conf:
        task.dag.params = conf
    return RuntimeTaskInstance.model_construct(
        **what.ti.model_dump(exclude_unset=True),
        task=task,
        _ti_context_from_server=what.ti_context,
        max_tries=what.ti_context.max_tries,
        start_date=what.start_date,
        sentry_integration=what.sentry_integration,
    )


class TaskRunner:
    """Run tasks one after another, and keep how the last one ended."""

    def __init__(self, create_runtime_ti: Callable[..., Any]) -> None:
        self._create_runtime_ti = create_runtime_ti
        self.state: Any = None
        self.msg: Any = None
        self.error: BaseException | None = None

    def __call__(
        self, task: Any, *, context_update: dict[str, Any] | None = None, **arguments: Any
    ) -> tuple[Any, Any, BaseException | None]:
        now = datetime.now(tz=timezone.utc)
        ti = self._create_runtime_ti(task, **{"logical_date": now, "start_date": now, **arguments})
        context = ti.get_template_context()
        context.update(context_update or {})
        self.state, self.msg, self.error = run(ti, context, structlog.get_logger(logger_name="task"))
        return self.state, self.msg, self.error
