"""Puts the parts of a combination into one running Airflow."""

from __future__ import annotations

import contextlib
from itertools import count
from typing import TYPE_CHECKING, Final, Self

from launchguard.lab.airflow.deployment import Blueprint, Deployment, deployed

if TYPE_CHECKING:
    from pathlib import Path
    from types import TracebackType

    from skew_installs import Installs
    from skew_table import Combination

# Airflow's own pauses are made for clusters, not for a machine where somebody waits.
_SETTINGS: Final = {
    "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.5",
    "AIRFLOW__SCHEDULER__JOB_HEARTBEAT_SEC": "2",
    "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "300",
}


class Fleet:
    """Runs one Airflow at a time, and keeps it for as long as the next combination needs the same one.

    Args:
        folder: for everything that it writes.
        server: URL of the PostgreSQL server's maintenance database.
        template: the name of a migrated database.
    """

    def __init__(self, folder: Path, installs: Installs, *, server: str, template: str) -> None:
        self._folder = folder
        self.installs = installs
        self._server = server
        self._template = template
        self._stack = contextlib.ExitStack()
        self._runs: tuple[str, str] | None = None
        self._deployment: Deployment | None = None
        self._numbers = count()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.take_down()

    def roll_out(self, combination: Combination) -> Deployment:
        """Have a combination run, with nothing going on in it."""
        pair = (combination.scheduler, combination.api_server)
        if self._deployment is None or self._runs != pair:
            self.take_down()
            self._deployment = self._deploy(combination)
            self._runs = pair
        self._roll_workers(self._deployment.site.folder / "workers", combination)
        return self._deployment

    def take_down(self) -> None:
        self._deployment = None
        self._stack.close()

    def _deploy(self, combination: Combination) -> Deployment:
        # A short name: the scheduler's sockets lie below, and a socket's path has 107 bytes at most.
        folder = self._folder / str(next(self._numbers))
        folder.mkdir()
        blueprint = Blueprint(
            self.installs.folder(combination.scheduler),
            api_server=self.installs.folder(combination.api_server),
            workers=folder / "workers",
            schedulers=("scheduler",),
            settings=_SETTINGS,
        )
        running = deployed(folder, blueprint, server=self._server, template=self._template)
        return self._stack.enter_context(running)

    def _roll_workers(self, image: Path, combination: Combination) -> None:
        """Have the workers' image stand for another installation: pods that come from now on are of that one."""
        image.unlink(missing_ok=True)
        image.symlink_to(self.installs.folder(combination.worker))
