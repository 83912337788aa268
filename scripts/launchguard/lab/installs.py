"""What the sides of a campaign run on: the tool's own environments, and a PostgreSQL server."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from launchguard import console
from launchguard.apply import apply
from launchguard.errors import LaunchguardError
from launchguard.lab.campaign import Stage, staged
from launchguard.lab.outcome import Side, rules_of
from launchguard.postgres import postgres_server
from launchguard.track import CORE, PROVIDER, SDK
from launchguard.venv import Variant, lane_venv
from launchguard.views import failure_lines

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from launchguard.fetch import Tree
    from launchguard.project import Project

LANE: Final = "head"
_VARIANTS: Final = {Side.RELEASED: Variant.UNPATCHED, Side.PATCHED: Variant.PATCHED}


@dataclass(frozen=True)
class Ground:
    """What a campaign is about.

    Args:
        revision: the tree's commit, with the series applied.
        rules: those that the series has patches for.
        folder: for all that the campaign writes.
    """

    project: Project
    tree: Tree
    revision: str
    series: tuple[str, ...]
    rules: frozenset[str]
    folder: Path

    def versions(self, sides: Sequence[Side]) -> dict[str, str]:
        released = ", ".join(f"{part} {self.tree.track.part(part).version}" for part in (CORE, SDK, PROVIDER))
        return {
            side: released if side is Side.RELEASED else f"{released} + {len(self.series)} patches" for side in sides
        }


def prepare(project: Project, tree: Tree) -> Ground:
    """Apply the series, and tell what is to be compared.

    Raises:
        LaunchguardError: the series does not apply.
    """
    applied = apply(project, tree)
    if applied.failed:
        raise LaunchguardError("\n  ".join(["the series does not apply:", *failure_lines(applied.trials)]))
    rules = rules_of(project.track_folder(tree.track.name))
    return Ground(project, tree, applied.head, applied.slugs, rules, project.build / "lab")


@contextlib.contextmanager
def stages(ground: Ground, sides: Sequence[Side]) -> Iterator[Iterator[Stage]]:
    """Give each side in its turn, made ready when its turn comes."""
    with postgres_server() as server:
        yield _stages(ground, sides, server)


def _stages(ground: Ground, sides: Sequence[Side], server: str) -> Iterator[Stage]:
    for side in sides:
        lane = ground.tree.track.lane(LANE)
        with console.working(f"{side}: making the environment"):
            venv = lane_venv(ground.project, ground.tree, lane, _VARIANTS[side], ground.revision)
        with staged(side, venv.folder, ground.folder / side, server) as stage:
            yield stage
