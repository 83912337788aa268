"""The tool's own speed."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from bench.comparison import Comparison, Side, compare, stopwatch, take_turns

from launchguard.fetch import fetch
from launchguard.project import find_project
from launchguard.track import load_track
from launchguard.venv import Variant, lane_venv

if TYPE_CHECKING:
    from collections.abc import Iterator

ROUNDS = 5


def trees(rounds: int | None) -> list[Comparison]:
    """Sdists to patched tree: all of it, against finding it unchanged."""
    name, made, unchanged = "sdists to patched tree", "from cached sdists", "unchanged"
    with _scratch_build() as build:
        sides = [
            Side(made, stopwatch(_apply, lambda: shutil.rmtree(build / "trees", ignore_errors=True))),
            Side(unchanged, stopwatch(_apply)),
        ]
        return [compare(name, take_turns(name, sides, rounds or ROUNDS), made, unchanged)]


def venvs(rounds: int | None) -> list[Comparison]:
    """A lane's environment and wheels from a warm package cache, against finding them unchanged."""
    with _scratch_build() as build:
        project = find_project()
        track = load_track(project, project.tracks()[0])
        tree = fetch(project, track)

        def make() -> None:
            lane_venv(project, tree, track.lanes[0], Variant.PATCHED, "HEAD")

        def forget() -> None:
            for kind in ("venvs", "wheels", "snapshots"):
                shutil.rmtree(build / kind, ignore_errors=True)

        make()  # fills uv's own cache
        name, made, unchanged = f"environment of lane {track.lanes[0].name}", "made, packages cached", "unchanged"
        sides = [Side(made, stopwatch(make, forget)), Side(unchanged, stopwatch(make))]
        return [compare(name, take_turns(name, sides, rounds or ROUNDS), made, unchanged)]


def _apply() -> None:
    """Run the tool as a user does."""
    subprocess.run([sys.executable, "-m", "launchguard", "apply"], check=True, stdout=subprocess.DEVNULL)


@contextlib.contextmanager
def _scratch_build() -> Iterator[Path]:
    """Build elsewhere for a while, with the downloads that there are and a patched tree."""
    cache, before = find_project().cache, os.environ.get("LAUNCHGUARD_BUILD")
    with tempfile.TemporaryDirectory(prefix="launchguard-bench-") as scratch:
        if cache.is_dir():
            shutil.copytree(cache, Path(scratch) / "cache", ignore=shutil.ignore_patterns("uv"))
        os.environ["LAUNCHGUARD_BUILD"] = scratch
        try:
            _apply()
            yield Path(scratch)
        finally:
            os.environ.pop("LAUNCHGUARD_BUILD")
            if before is not None:
                os.environ["LAUNCHGUARD_BUILD"] = before
