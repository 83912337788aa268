"""Dags in the form that the scheduler works with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests_common import across_versions

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

TESTING_BUNDLE = "testing"


def create_scheduler_dag(dag: Any) -> Any:
    """Return what the scheduler would read back after ``dag`` was serialized."""
    return across_versions.as_scheduler_dag(dag)


def sync_dag_to_db(dag: Any, bundle_name: str = TESTING_BUNDLE, session: Session | None = None) -> Any:
    """Store a Dag as the Dag processor would, and return the scheduler's form of it."""
    from airflow.utils.session import create_session

    if session is not None:
        return across_versions.store_dag(dag, bundle_name=bundle_name, bundle_version=None, session=session)
    with create_session() as own_session:
        return across_versions.store_dag(dag, bundle_name=bundle_name, bundle_version=None, session=own_session)
