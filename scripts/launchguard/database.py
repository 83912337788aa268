"""A migrated database for each kind of environment, which every test process gets a copy of."""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from launchguard import console
from launchguard.postgres import postgres_server
from launchguard.process import run
from launchguard.track import CORE

if TYPE_CHECKING:
    from collections.abc import Iterator

    from launchguard.project import Project
    from launchguard.track import Lane
    from launchguard.venv import Venv


@contextlib.contextmanager
def database_template(project: Project, venv: Venv, lane: Lane) -> Iterator[str]:
    """Give a freshly migrated database for the Airflow in `venv`: a SQLite file's path, or a PostgreSQL URL.

    SQLite files are made once for each core and kept; PostgreSQL is there for as long as the context is open.

    Args:
        project: whose cache keeps the files.
        venv: the environment.
        lane: names the kind of database.
    """
    if lane.database == "sqlite":
        yield str(_sqlite_template(project, venv))
        return
    with postgres_server() as server:
        name = f"airflow_{_key(venv)}"
        url = urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
        _create_database(venv, server, name)
        with tempfile.TemporaryDirectory(prefix="launchguard-migrate-") as home:
            _migrate(venv, Path(home), url.replace("postgresql://", "postgresql+psycopg2://", 1))
        yield url


def _key(venv: Venv) -> str:
    return hashlib.sha256(f"{venv.contents.base} {venv.contents.parts.get(CORE, '')}".encode()).hexdigest()[:16]


def _sqlite_template(project: Project, venv: Venv) -> Path:
    target = project.cache / "databases" / f"{_key(venv)}.db"
    if target.is_file():
        return target
    home = target.parent / f".{target.stem}.home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    _migrate(venv, home, f"sqlite:///{home / 'airflow.db'}")
    (home / "airflow.db").rename(target)
    shutil.rmtree(home)
    return target


def _create_database(venv: Venv, server: str, name: str) -> None:
    """Make an empty database, with the client that the lane has."""
    program = (
        "import sys, psycopg2\nconnection = psycopg2.connect(sys.argv[1])\nconnection.autocommit = True\n"
        "cursor = connection.cursor()\n"
        "cursor.execute(f'DROP DATABASE IF EXISTS {sys.argv[2]}')\ncursor.execute(f'CREATE DATABASE {sys.argv[2]}')\n"
    )
    run(venv.python, "-c", program, server, name)


def _migrate(venv: Venv, home: Path, url: str) -> None:
    environment = {
        "PATH": f"{venv.folder / 'bin'}:{os.environ.get('PATH', os.defpath)}",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__UNIT_TEST_MODE": "True",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": url,
    }
    with console.working("migrating a database"):
        run(venv.folder / "bin" / "airflow", "db", "migrate", cwd=home, env=environment)
