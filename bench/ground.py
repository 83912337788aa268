"""What the measurements of Airflow stand on: installations, a big database, and programs that run in both."""

from __future__ import annotations

import contextlib
import os
import secrets
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from bench.child import child
from bench.installs import Installs, make_installs
from bench.million import Million, million

from launchguard import console
from launchguard.lab.airflow.environment import Site, control_env, write_pod_template
from launchguard.lab.kubeconfig import write_kubeconfig
from launchguard.postgres import postgres_server
from launchguard.project import find_project

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.child import Child

_ROOT = Path(__file__).resolve().parents[1]


@dataclass(frozen=True)
class Ground:
    """Installations and the database, for as long as they are measured."""

    installs: Installs
    database: Million
    folder: Path
    _secret: str = field(default_factory=secrets.token_hex, repr=False)

    def program(
        self, name: str, side: str, *words: str, kubernetes: str = "http://127.0.0.1:1"
    ) -> contextlib.AbstractContextManager[Child]:
        """Start a program of `bench/inside` in a side's installation.

        Args:
            name: of the program.
            side: a name of an installation.
            words: its arguments.
            kubernetes: URL of the API that its executor talks to.
        """
        venv: Path = getattr(self.installs, side)
        folder = Path(tempfile.mkdtemp(prefix=f"{name}-{side}-", dir=self.folder))
        site = Site(
            folder=folder,
            dags=folder,
            database=self.database.airflow_url,
            api_port=0,
            worker_port=0,
            # The sweep for completed pods comes every 5 minutes, to one side or the other.
            settings={"AIRFLOW__SCHEDULER__ORPHANED_TASKS_CHECK_INTERVAL": "1e9"},
            jwt_secret=self._secret,
        )
        write_pod_template(site)
        environment = control_env(site, venv, write_kubeconfig(folder / "kubeconfig", kubernetes), name)
        environment["PYTHONPATH"] += f"{os.pathsep}{_ROOT}"
        python = venv / "bin" / "python"
        return child(python, "-m", f"bench.inside.{name}", *words, log=folder / "log", cwd=folder, env=environment)


@contextlib.contextmanager
def ground(rows: int) -> Iterator[Ground]:
    """Make everything ready, which takes about a minute for a million rows."""
    installs = make_installs(find_project())
    for side, what in installs.versions.items():
        console.note(f"{side}: {what}")
    with tempfile.TemporaryDirectory(prefix="launchguard-bench-") as scratch, postgres_server() as server:
        folder = Path(scratch)
        with million(server, installs.released / "bin" / "airflow", folder, rows) as database:
            yield Ground(installs, database, folder)
