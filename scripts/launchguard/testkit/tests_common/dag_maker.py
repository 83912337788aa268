"""What the Dag fixtures hand to tests."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from airflow import settings
from airflow.utils.state import DagRunState
from airflow.utils.types import DagRunType

from tests_common import across_versions
from tests_common.test_utils import db
from tests_common.test_utils.compat import EmptyOperator, timezone
from tests_common.test_utils.version_compat import AIRFLOW_V_3_0_PLUS

if TYPE_CHECKING:
    from types import ModuleType

    from sqlalchemy.orm import Session

_DEFAULT_START = timezone.datetime(2016, 1, 1)


class DagMaker:
    """Make a Dag in a ``with`` block, which stores it, and then runs of it.

    Call it with the Dag's arguments to open the block. Entering it again without a call goes on with the same Dag.
    Every change is committed, so that other sessions (an API under test, say) see it.
    """

    DEFAULT: Any = object()
    """For arguments whose ``None`` means something."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module
        self._session: Session | None = None
        self.dag: Any = None
        self.serialized_dag: Any = None
        self.dag_model: Any = None
        self.dag_run: Any = None

    def __call__(
        self,
        dag_id: str = "test_dag",
        *,
        schedule: Any = timedelta(days=1),
        session: Session | None = None,
        fileloc: str | None = None,
        relative_fileloc: str | None = None,
        bundle_name: str = "dag_maker",
        bundle_version: str | None = None,
        serialized: bool = True,
        **dag_arguments: Any,
    ) -> DagMaker:
        """Begin a Dag.

        Args:
            dag_id: The Dag's id.
            schedule: The Dag's schedule, daily by default.
            session: The session to use; by default the thread's.
            fileloc: The file that is said to define the Dag; by default the test's.
            relative_fileloc: The same relative to the bundle.
            bundle_name: The bundle that the Dag is filed under, made if it is new.
            bundle_version: The version of that bundle.
            serialized: Taken for upstream's sake; the Dag is always stored in serialized form as well.
            dag_arguments: Anything else the Dag takes. ``start_date`` is the module's ``DEFAULT_DATE`` by default.
        """
        if session is not None:
            self._session = session
        self.start_date = self._start_date(dag_arguments)
        dag_arguments["start_date"] = self.start_date
        self.dag = across_versions.dag_class()(dag_id, schedule=schedule, **dag_arguments)
        self.dag.fileloc = fileloc or self._module.__file__
        if AIRFLOW_V_3_0_PLUS:
            self.dag.relative_fileloc = relative_fileloc or Path(self.dag.fileloc).name
        self._bundle_name = bundle_name
        self._bundle_version = bundle_version
        return self

    @property
    def session(self) -> Session:
        """The session that the Dag was begun with, by default the thread's."""
        return self._session or settings.Session()

    def _start_date(self, dag_arguments: dict[str, Any]) -> Any:
        defaults = dag_arguments.get("default_args") or {}
        return (
            dag_arguments.get("start_date")
            or defaults.get("start_date")
            or getattr(self._module, "DEFAULT_DATE", _DEFAULT_START)
        )

    def __enter__(self) -> Any:
        return self.dag.__enter__()

    def __exit__(self, kind: Any, error: Any, traceback: Any) -> None:
        self.dag.__exit__(kind, error, traceback)
        if kind is None:
            self.sync_dagbag_to_db()

    def sync_dagbag_to_db(self) -> None:
        """Store the Dag as it is now."""
        from airflow.models.dag import DagModel

        self.serialized_dag = across_versions.store_dag(
            self.dag,
            bundle_name=self._bundle_name,
            bundle_version=self._bundle_version,
            session=self.session,
        )
        self.session.commit()
        self.dag_model = self.session.get(DagModel, self.dag.dag_id)

    def create_dagrun(
        self,
        *,
        run_type: Any = DagRunType.MANUAL,
        run_id: str | None = None,
        logical_date: Any = DEFAULT,
        data_interval: Any = DEFAULT,
        **arguments: Any,
    ) -> Any:
        """Make a run with its task instances.

        Without a type it is a manual run with the id ``test``, at the Dag's start date; with one its id and date are
        those that the timetable gives to its first run. ``logical_date=None`` makes a run without a date.
        """
        run_type = DagRunType(run_type)
        if run_id is None and run_type == DagRunType.MANUAL:
            run_id = "test"
        if logical_date is DagMaker.DEFAULT:
            logical_date = self._default_logical_date(run_type)
        logical_date = timezone.coerce_datetime(logical_date)
        if data_interval is DagMaker.DEFAULT:
            data_interval = logical_date and across_versions.data_interval(self.serialized_dag, run_type, logical_date)
        self.dag_run = self.serialized_dag.create_dagrun(
            **{
                "run_type": run_type,
                "state": DagRunState.RUNNING,
                "start_date": self.start_date,
                "session": self.session,
                **across_versions.run_arguments(self.serialized_dag, run_type, logical_date, data_interval, run_id),
                **arguments,
            }
        )
        for ti in self.dag_run.task_instances:
            # Tests look at the operator that they made, not at the scheduler's picture of it.
            ti.refresh_from_task(self.dag.get_task(ti.task_id))
        self.session.commit()
        return self.dag_run

    def _default_logical_date(self, run_type: DagRunType) -> Any:
        if run_type == DagRunType.MANUAL:
            return self.start_date
        return across_versions.first_logical_date(self.serialized_dag)

    def create_dagrun_after(self, dag_run: Any, **arguments: Any) -> Any:
        """Make the run that follows ``dag_run`` on the schedule."""
        following = across_versions.next_run_arguments(self.serialized_dag, dag_run)
        return self.create_dagrun(**{**following, "run_type": dag_run.run_type, **arguments})

    def clean_up(self) -> None:
        """Forget what was not committed, and empty the tables of runs and Dags, if a Dag was begun at all."""
        if self.dag is None:
            return
        self.session.rollback()
        db.clear_db_runs()
        db.clear_db_dags()


class TaskInstanceMaker:
    """Make a Dag of one task, a run of it, and set fields of the task instance."""

    def __init__(self, dag_maker: DagMaker) -> None:
        self._dag_maker = dag_maker

    def __call__(
        self,
        *,
        dag_id: str = "dag",
        task_id: str = "op1",
        map_index: int = -1,
        logical_date: Any = DagMaker.DEFAULT,
        dagrun_state: Any = None,
        **arguments: Any,
    ) -> Any:
        """Return the task instance.

        Args:
            dag_id: Id of the Dag.
            task_id: Id of the task.
            map_index: The task instance's map index.
            logical_date: The run's date; now by default, ``None`` for a run without one.
            dagrun_state: The run's state, if not running.
            arguments: Told apart by name: those in ``_RUN_ARGUMENTS`` go to the run, in ``_TASK_ARGUMENTS`` to the
                operator, in ``_FIELDS`` to the task instance, all others to the Dag.
        """
        run = _take(arguments, _RUN_ARGUMENTS)
        if dagrun_state is not None:
            run["state"] = dagrun_state
        operator = _take(arguments, _TASK_ARGUMENTS)
        fields = _take(arguments, _FIELDS)
        with self._dag_maker(dag_id, **arguments):
            task = EmptyOperator(task_id=task_id, **operator)
        run["logical_date"] = timezone.utcnow() if logical_date is DagMaker.DEFAULT else logical_date
        (ti,) = self._dag_maker.create_dagrun(**run).task_instances
        ti.task = task
        ti.map_index = map_index
        for name, value in fields.items():
            setattr(ti, name, value)
        self._dag_maker.session.commit()
        return ti


_FIELDS = ("state", "external_executor_id", "hostname", "pid", "last_heartbeat_at")
# Airflow 2 has no run_after.
_RUN_ARGUMENTS = (
    ("run_id", "run_type", "data_interval", "run_after")
    if AIRFLOW_V_3_0_PLUS
    else ("run_id", "run_type", "data_interval")
)
_TASK_ARGUMENTS = (
    "executor_config",
    "max_active_tis_per_dag",
    "max_active_tis_per_dagrun",
    "on_execute_callback",
    "on_failure_callback",
    "on_retry_callback",
    "on_success_callback",
    "pool",
    "retries",
    "task_display_name",
    "trigger_rule",
)


def _take(source: dict[str, Any], names: tuple[str, ...]) -> dict[str, Any]:
    return {name: source.pop(name) for name in names if name in source}
