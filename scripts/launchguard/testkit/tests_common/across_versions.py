"""The one place that knows how storing Dags, making runs and running tasks differ from Airflow 2.11 to 3.3."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests_common.test_utils.version_compat import (
    AIRFLOW_V_3_0_PLUS,
    AIRFLOW_V_3_1_PLUS,
    AIRFLOW_V_3_2_PLUS,
)

if TYPE_CHECKING:
    from datetime import datetime

    from sqlalchemy.orm import Session


def dag_class() -> Any:
    """Return the class that Dag authors use and whose Dags can be stored."""
    if AIRFLOW_V_3_1_PLUS:
        from airflow.sdk import DAG
    else:
        from airflow.models.dag import DAG
    return DAG


def as_scheduler_dag(dag: Any) -> Any:
    """Return the Dag as the scheduler reads it back from its serialized form."""
    if AIRFLOW_V_3_2_PLUS:
        from airflow.serialization.serialized_objects import DagSerialization as Serialization
    else:
        from airflow.serialization.serialized_objects import SerializedDAG as Serialization
    return Serialization.from_dict(Serialization.to_dict(dag))


def store_dag(dag: Any, *, bundle_name: str, bundle_version: str | None, session: Session) -> Any:
    """Write a Dag to the database, its bundle too if that is new, and return the Dag that can make runs."""
    from airflow.models.serialized_dag import SerializedDagModel

    if not AIRFLOW_V_3_0_PLUS:
        dag.sync_to_db(session=session)
        SerializedDagModel.write_dag(dag, session=session)
        return dag

    add_bundle(bundle_name, session=session)
    stored = _storable(dag)
    _bulk_writer().bulk_write_to_db(bundle_name, bundle_version, [stored], session=session)
    SerializedDagModel.write_dag(stored, bundle_name=bundle_name, bundle_version=bundle_version, session=session)
    session.flush()
    # Not read from the row: 3.0 keeps the decoded Dag on the row's object even when it rewrites the row.
    return as_scheduler_dag(dag)


def add_bundle(name: str, *, session: Session) -> None:
    """Store a Dag bundle's row unless it is there."""
    from airflow.models.dagbundle import DagBundleModel

    if session.get(DagBundleModel, name) is None:
        session.add(DagBundleModel(name=name))
        session.flush()


def _storable(dag: Any) -> Any:
    if not AIRFLOW_V_3_1_PLUS:
        from airflow.models.dag import DAG
        from airflow.serialization.serialized_objects import LazyDeserializedDAG, SerializedDAG

        # The processor of 3.0 keeps the scheduler's own class as it is and serializes the SDK's.
        return dag if isinstance(dag, DAG) else LazyDeserializedDAG(data=SerializedDAG.to_dict(dag))
    from airflow.serialization.serialized_objects import LazyDeserializedDAG

    return LazyDeserializedDAG.from_dag(dag)


def _bulk_writer() -> Any:
    if AIRFLOW_V_3_2_PLUS:
        from airflow.serialization.definitions.dag import SerializedDAG

        return SerializedDAG
    if AIRFLOW_V_3_1_PLUS:
        from airflow.serialization.serialized_objects import SerializedDAG

        return SerializedDAG
    from airflow.models.dag import DAG

    return DAG


def first_logical_date(dag: Any) -> datetime:
    """Return the logical date of the first run that the scheduler would make."""
    if AIRFLOW_V_3_2_PLUS:
        return dag.next_dagrun_info(last_automated_run_info=None).logical_date
    return dag.next_dagrun_info(None).logical_date


def data_interval(dag: Any, run_type: Any, logical_date: datetime) -> Any:
    """Return the data interval of a run with that logical date."""
    from airflow.utils.types import DagRunType

    if run_type == DagRunType.MANUAL:
        return dag.timetable.infer_manual_data_interval(run_after=logical_date)
    if AIRFLOW_V_3_1_PLUS:
        from airflow.models.dag import infer_automated_data_interval

        return infer_automated_data_interval(dag.timetable, logical_date)
    return dag.infer_automated_data_interval(logical_date)


def next_run_arguments(dag: Any, dag_run: Any) -> dict[str, Any]:
    """Return ``logical_date`` and ``data_interval`` of the run that follows ``dag_run`` on the schedule."""
    if AIRFLOW_V_3_2_PLUS:
        from airflow.timetables.base import DagRunInfo, DataInterval

        interval = DataInterval(dag_run.data_interval_start, dag_run.data_interval_end)
        last = DagRunInfo(run_after=dag_run.run_after, data_interval=interval, partition_date=None, partition_key=None)
        info = dag.next_dagrun_info(last_automated_run_info=last)
    elif AIRFLOW_V_3_1_PLUS:
        from airflow.models.dag import get_run_data_interval

        info = dag.next_dagrun_info(get_run_data_interval(dag.timetable, dag_run))
    else:
        info = dag.next_dagrun_info(dag.get_run_data_interval(dag_run))
    if info is None:
        msg = f"no run follows {dag_run}"
        raise ValueError(msg)
    return {"logical_date": info.logical_date, "data_interval": info.data_interval}


def run_arguments(
    dag: Any, run_type: Any, logical_date: datetime | None, interval: Any, run_id: str | None
) -> dict[str, Any]:
    """Return the arguments of ``create_dagrun`` whose names changed with Airflow 3, and the run id."""
    from tests_common.test_utils.compat import timezone

    run_after = interval[1] if interval else timezone.utcnow()
    if not AIRFLOW_V_3_0_PLUS:
        run_id = run_id or dag.timetable.generate_run_id(
            run_type=run_type, logical_date=logical_date or run_after, data_interval=interval
        )
        return {"run_id": run_id, "execution_date": logical_date, "data_interval": interval}

    from airflow.utils.types import DagRunTriggeredByType

    run_id = run_id or dag.timetable.generate_run_id(
        run_type=run_type,
        run_after=logical_date or timezone.coerce_datetime(run_after),
        data_interval=interval,
    )
    return {
        "run_id": run_id,
        "logical_date": logical_date,
        "data_interval": interval,
        "run_after": run_after,
        "triggered_by": DagRunTriggeredByType.TEST,
    }


def runtime_task_instance(ti: Any, task: Any) -> Any:
    """Return the worker's view of a stored task instance (3.2 and later, where the stored one cannot render)."""
    from airflow.sdk.api.datamodels._generated import DagRun, TIRunContext

    from tests_common.stored_task_instance import StoredTaskInstance

    run = ti.dag_run
    known = {name: getattr(run, name) for name in DagRun.model_fields if hasattr(run, name)}
    runtime_ti = StoredTaskInstance.model_construct(
        id=ti.id,
        task_id=ti.task_id,
        dag_id=ti.dag_id,
        run_id=ti.run_id,
        try_number=ti.try_number,
        map_index=ti.map_index,
        max_tries=ti.max_tries,
        dag_version_id=ti.dag_version_id,
        task=task,
    )
    runtime_ti._ti_context_from_server = TIRunContext.model_construct(
        dag_run=DagRun.model_construct(**{**known, "consumed_asset_events": []}),
        max_tries=ti.max_tries,
    )
    return runtime_ti


def run_task_instance(ti: Any, task: Any, *, ignore_ti_state: bool = False) -> Any:
    """Run the task in this process against the database."""
    if AIRFLOW_V_3_2_PLUS:
        from airflow.sdk.definitions.dag import _run_task

        return _run_task(ti=ti, task=task)
    ti.refresh_from_task(task)
    return ti.run(ignore_ti_state=ignore_ti_state)
