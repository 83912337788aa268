"""Compare two things in one run: medians, spread, and their ratio.

Timings on shared machines are noisy, so the sides of a pair take turns and nothing here fails a build.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import rich_click as click
from rich.table import Table

from launchguard import console
from launchguard.fetch import fetch
from launchguard.project import find_project
from launchguard.track import load_track
from launchguard.venv import Variant, lane_venv

if TYPE_CHECKING:
    from collections.abc import Callable


@dataclass(frozen=True)
class Side:
    """One side of a comparison: what stands before the clock starts, and what is timed."""

    name: str
    prepare: Callable[[], None]
    timed: Callable[[], None]


@dataclass(frozen=True)
class Timing:
    """Seconds over all rounds of one side."""

    side: str
    median: float
    fastest: float
    slowest: float


@dataclass(frozen=True)
class Comparison:
    """Two sides; `ratio` is the first's median over the second's, the other two its extremes round by round."""

    name: str
    first: Timing
    second: Timing
    ratio: float
    lowest: float
    highest: float


def compare(name: str, first: Side, second: Side, rounds: int) -> Comparison:
    """Time two sides in turns."""
    seconds: dict[str, list[float]] = {first.name: [], second.name: []}
    for number in range(rounds):
        console.note(f"{name}: round {number + 1} of {rounds}")
        for side in (first, second):
            side.prepare()
            started = time.perf_counter()
            side.timed()
            seconds[side.name].append(time.perf_counter() - started)
    one, two = seconds[first.name], seconds[second.name]
    by_round = [a / b for a, b in zip(one, two, strict=True)]
    return Comparison(
        name,
        _timing(first.name, one),
        _timing(second.name, two),
        statistics.median(one) / statistics.median(two),
        min(by_round),
        max(by_round),
    )


def _timing(side: str, seconds: list[float]) -> Timing:
    return Timing(side, statistics.median(seconds), min(seconds), max(seconds))


def launchguard(*words: str) -> Callable[[], None]:
    """Give a function that runs the tool as a user does."""

    def call() -> None:
        subprocess.run([sys.executable, "-m", "launchguard", *words], check=True, stdout=subprocess.DEVNULL)

    return call


def nothing() -> None:
    """Stand where a side needs no preparation."""


def trees(build: Path, rounds: int) -> Comparison:
    """Sdists to patched tree: all of it, against finding it unchanged."""
    apply = launchguard("apply")
    return compare(
        "sdists to patched tree",
        Side("from cached sdists", lambda: shutil.rmtree(build / "trees", ignore_errors=True), apply),
        Side("unchanged", nothing, apply),
        rounds,
    )


def venvs(rounds: int) -> Comparison:
    """A lane's environment and wheels from a warm package cache, against finding them unchanged."""
    project = find_project()
    track = load_track(project, project.tracks()[0])
    tree = fetch(project, track)

    def make() -> None:
        lane_venv(project, tree, track.lanes[0], Variant.PATCHED, "HEAD")

    def prepare() -> None:
        for kind in ("venvs", "wheels", "snapshots"):
            shutil.rmtree(project.build / kind, ignore_errors=True)

    make()  # fills uv's own cache
    name = f"environment of lane {track.lanes[0].name}"
    return compare(name, Side("made, packages cached", prepare, make), Side("unchanged", nothing, make), rounds)


@click.command()
@click.option("--rounds", default=5, show_default=True, type=click.IntRange(1))
@click.option("--json", "as_json", is_flag=True)
def main(rounds: int, as_json: bool) -> None:
    """Run every comparison; about a minute."""
    with tempfile.TemporaryDirectory(prefix="launchguard-bench-") as scratch:
        build = Path(scratch)
        cache = find_project().build / "cache"
        if cache.is_dir():
            shutil.copytree(cache, build / "cache", ignore=shutil.ignore_patterns("uv"))
        os.environ["LAUNCHGUARD_BUILD"] = str(build)
        launchguard("apply")()
        done = [trees(build, rounds), venvs(rounds)]
    if as_json:
        console.show_json(done)
        return
    table = Table("comparison", "side", "median s", "fastest", "slowest", "ratio (range)", box=None, pad_edge=False)
    for one in done:
        for side, ratio in ((one.first, f"{one.ratio:.1f} ({one.lowest:.1f} to {one.highest:.1f})"), (one.second, "1")):
            table.add_row(
                one.name, side.side, f"{side.median:.2f}", f"{side.fastest:.2f}", f"{side.slowest:.2f}", ratio
            )
    console.OUT.print(table)


if __name__ == "__main__":
    main()
