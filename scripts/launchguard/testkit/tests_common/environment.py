"""Settings that have to be in place before the first import of Airflow."""

from __future__ import annotations

import atexit
import os
import shutil
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit
from uuid import uuid4

DB_TEMPLATE_VARIABLE = "LAUNCHGUARD_DB_TEMPLATE"
"""Names a migrated database, a SQLite file or a PostgreSQL URL; every process of the run works on a copy of it."""

DAGS_FOLDER = Path(__file__).parents[1] / "dags"

_SETTINGS = {
    "AIRFLOW__CORE__UNIT_TEST_MODE": "True",
    "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
    "AIRFLOW__CORE__DAGS_FOLDER": str(DAGS_FOLDER),
    # The tests load executors that upstream does not allow with SQLite.
    "_AIRFLOW__SKIP_DATABASE_EXECUTOR_COMPATIBILITY_CHECK": "1",
}


def prepare() -> None:
    """Set the test configuration, and give this process a database of its own where a template is named."""
    os.environ.update(_SETTINGS)
    template = os.environ.get(DB_TEMPLATE_VARIABLE)
    if template:
        # xdist workers inherit the controller's environment, so its copy must not be taken for this process's own.
        worker = os.environ.get("PYTEST_XDIST_WORKER", "main")
        home = Path(tempfile.mkdtemp(prefix=f"airflow-tests-{worker}-"))
        atexit.register(shutil.rmtree, home, ignore_errors=True)
        os.environ["AIRFLOW_HOME"] = str(home)
        copy = _copy_postgresql if template.startswith("postgresql:") else _copy_sqlite
        os.environ["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"] = copy(template, home)


def _copy_sqlite(template: str, home: Path) -> str:
    database = home / "airflow.db"
    shutil.copyfile(template, database)
    return f"sqlite:///{database}"


def _copy_postgresql(template: str, home: Path) -> str:
    import psycopg2

    url = urlsplit(template)
    name = f"copy_{uuid4().hex}"
    connection = psycopg2.connect(urlunsplit(url._replace(path="/postgres")))
    connection.autocommit = True
    try:
        _create_from(connection, url.path.lstrip("/"), name)
    finally:
        connection.close()
    return urlunsplit(url._replace(scheme="postgresql+psycopg2", path=f"/{name}"))


def _create_from(connection: Any, template: str, name: str) -> None:
    """Copy a database; only one copy can be made at a time, so workers that start together wait for each other."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_lock(69760)")
        cursor.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
        cursor.execute("SELECT pg_advisory_unlock(69760)")
