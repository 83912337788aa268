"""A migrated SQLite database for each kind of environment, which every test process gets a copy of."""

from __future__ import annotations

import hashlib
import os
import shutil
from typing import TYPE_CHECKING

from launchguard import console
from launchguard.process import run
from launchguard.track import CORE

if TYPE_CHECKING:
    from pathlib import Path

    from launchguard.project import Project
    from launchguard.venv import Venv


def database_template(project: Project, venv: Venv) -> Path:
    """Give a freshly migrated database for the Airflow in `venv`, made once for each core.

    Args:
        project: whose cache keeps it.
        venv: the environment.
    """
    key = hashlib.sha256(f"{venv.contents.base} {venv.contents.parts.get(CORE, '')}".encode()).hexdigest()[:16]
    target = project.cache / "databases" / f"{key}.db"
    if target.is_file():
        return target
    home = target.parent / f".{key}.home"
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    with console.working("migrating a database"):
        run(venv.folder / "bin" / "airflow", "db", "migrate", cwd=home, env=migration_environment(venv, home))
    (home / "airflow.db").rename(target)
    shutil.rmtree(home)
    return target


def migration_environment(venv: Venv, home: Path) -> dict[str, str]:
    return {
        "PATH": f"{venv.folder / 'bin'}:{os.environ.get('PATH', os.defpath)}",
        "HOME": str(home),
        "LANG": "C.UTF-8",
        "AIRFLOW_HOME": str(home),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__UNIT_TEST_MODE": "True",
        "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{home / 'airflow.db'}",
    }
