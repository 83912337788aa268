"""The fleet that plays all combinations."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from skew_fleet import Fleet
from skew_installs import RELEASED, Installs

from launchguard.fetch import fetch
from launchguard.lab.airflow.deployment import migrated
from launchguard.lab.installs import prepare
from launchguard.postgres import postgres_server
from launchguard.project import Project
from launchguard.track import load_track

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parents[2]
TRACK = "3.3.0"


@pytest.fixture(scope="session")
def fleet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Fleet]:
    """Give the fleet; its database was migrated by the released Airflow, as the series needs no migration."""
    project = Project(ROOT)
    installs = Installs(prepare(project, fetch(project, load_track(project, TRACK))))
    folder = tmp_path_factory.mktemp("skew")
    with (
        postgres_server() as server,
        migrated(folder, installs.folder(RELEASED), server) as template,
        Fleet(folder, installs, server=server, template=template) as made,
    ):
        yield made
