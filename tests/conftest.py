"""What every test gets: nothing of the user's settings, and nothing of the real project."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from factories import make_project
from fakeindex import Index, serve
from series_factories import three_project

if TYPE_CHECKING:
    from collections.abc import Iterator

    from launchguard.project import Project

# Tests with these marks use the machine's package index, caches and interpreters, as a user's run would.
REAL_MACHINE = ("network", "airflow")
FIXED = {
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_EDITOR": "false",
    "GIT_AUTHOR_NAME": "Ada Example",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada Example",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
    "NO_COLOR": "1",
}


@pytest.fixture(autouse=True)
def hermetic(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, monkeypatch) -> None:
    """Seal a test from the user: home, settings of git, pip, uv and launchguard, proxies."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in a shell's background job, and passed on to children
        signal.signal(signal.SIGINT, signal.default_int_handler)
    for name in list(os.environ):
        if name.startswith(("LAUNCHGUARD_", "GIT_")):
            monkeypatch.delenv(name)
    for name, value in FIXED.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PATH", os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])))
    if any(request.node.get_closest_marker(mark) for mark in REAL_MACHINE):
        return
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(home / ".config"))
    # Else the ruff of the track's day would be fetched.
    monkeypatch.setenv("LAUNCHGUARD_RUFF", str(Path(sys.executable).with_name("ruff")))
    for name in list(os.environ):
        if name.startswith(("PIP_", "UV_", "PYENV_")) or name.lower().endswith("_proxy"):
            monkeypatch.delenv(name)
    monkeypatch.chdir(home)


@pytest.fixture
def project(tmp_path: Path) -> Project:
    """A project with one track and no patches, whose sdists are in the cache."""
    return make_project(tmp_path)


@pytest.fixture
def three(tmp_path: Path) -> Project:
    """A project whose track has the series one, two, three (see `series_factories`), applied in its tree."""
    return three_project(tmp_path / "three")


@pytest.fixture
def index(monkeypatch: pytest.MonkeyPatch) -> Iterator[Index]:
    """An empty package index on loopback that everything here is told to use."""
    with serve() as served:
        monkeypatch.setenv("UV_DEFAULT_INDEX", served.url)
        yield served
