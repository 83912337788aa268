"""Emptying tables between tests."""

from __future__ import annotations

# What refers to these rows goes with them, except where the order here says otherwise.
_RUN_TABLES = ("task_instance", "dag_run", "deadline", "callback", "callback_request", "trigger", "job")
# A Dag version cannot go while a task instance refers to it, whatever order a test clears in.
_DAG_TABLES = ("task_instance", "serialized_dag", "dag_code", "dag_version", "import_error", "dag")


def clear_db_runs() -> None:
    _clear(_RUN_TABLES)


def clear_db_dags() -> None:
    _clear(_DAG_TABLES)


def clear_db_dag_bundles() -> None:
    _clear(("dag_bundle",))


def clear_db_connections() -> None:
    _clear(("connection",))


def clear_rendered_ti_fields() -> None:
    _clear(("rendered_task_instance_fields",))


def clear_test_connections(add_default_connections_back: bool = True) -> None:
    """Remove every connection, and put the ones of a new installation back if wanted."""
    from airflow.utils.db import create_default_connections
    from airflow.utils.session import create_session

    clear_db_connections()
    if add_default_connections_back:
        with create_session() as session:
            create_default_connections(session=session)


def _clear(names: tuple[str, ...]) -> None:
    """Empty the tables in the order given; names that this release does not have are passed over."""
    from airflow.models.base import Base
    from airflow.utils.session import create_session

    # The thread's own session: on SQLite another one would wait for its locks.
    with create_session() as session:
        for name in names:
            if (table := Base.metadata.tables.get(name)) is not None:
                session.execute(table.delete())
