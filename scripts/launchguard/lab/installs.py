"""What the sides of a campaign run on: the tool's own environments, and a PostgreSQL server."""

from __future__ import annotations

import contextlib
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from launchguard import console
from launchguard.apply import apply_all
from launchguard.lab.campaign import Stage, staged
from launchguard.lab.outcome import Side, rules_of
from launchguard.lock import require_lock
from launchguard.postgres import postgres_server
from launchguard.track import CORE, PROVIDER, SDK
from launchguard.venv import Variant, Venv, lane_venv

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from launchguard.fetch import Tree
    from launchguard.lab.cluster.choice import ClusterChoice, Place
    from launchguard.project import Project

LANE: Final = "head"
NEWER: Final = "release-3.3.2"


@dataclass(frozen=True)
class Ground:
    """What a campaign is about.

    Args:
        revision: the tree's commit, with the series applied.
        rules: those that the series has patches for.
        folder: for all that the campaign writes.
        cluster: a real one to play on; None for the stand-in.
    """

    project: Project
    tree: Tree
    revision: str
    series: tuple[str, ...]
    rules: frozenset[str]
    folder: Path
    cluster: ClusterChoice | None = None

    def versions(self, sides: Sequence[Side]) -> dict[str, str]:
        track = self.tree.track
        released = ", ".join(f"{part} {track.part(part).version}" for part in (CORE, SDK, PROVIDER))
        patched = f"{released} + {len(self.series)} patches"
        told = {Side.RELEASED: released, Side.PATCHED: patched}
        found = {side: told.get(side) or self._newer() for side in sides}
        images = {} if self.cluster is None else self.cluster.images
        return {side: f"{text}, workers in {images[side]}" if side in images else text for side, text in found.items()}

    def _newer(self) -> str:
        """Name the parts of the newer release, as its lock pins them."""
        lock = require_lock(self.project, self.tree.track, self.tree.track.release(NEWER)).read_text(encoding="utf-8")
        parts = [self.tree.track.part(part) for part in (CORE, SDK, PROVIDER)]
        pinned = {part.name: re.search(rf"(?m)^{part.distribution}==(\S+)", lock) for part in parts}
        return ", ".join(f"{name} {found[1]}" for name, found in pinned.items() if found)

    def venv(self, side: Side) -> Venv:
        """Make a side's environment, or find it."""
        track = self.tree.track
        lane = track.release(NEWER) if side is Side.NEWER else track.lane(LANE)
        variant = Variant.PATCHED if side is Side.PATCHED else Variant.UNPATCHED
        return lane_venv(self.project, self.tree, lane, variant, self.revision)


def prepare(project: Project, tree: Tree) -> Ground:
    """Apply the series, and tell what is to be compared.

    Raises:
        LaunchguardError: the series does not apply.
    """
    applied = apply_all(project, tree)
    rules = rules_of(project.track_folder(tree.track.name))
    return Ground(project, tree, applied.head, applied.slugs, rules, project.build / "lab")


@contextlib.contextmanager
def stages(ground: Ground, sides: Sequence[Side]) -> Iterator[Iterator[Stage]]:
    """Give each side in its turn, made ready when its turn comes."""
    with contextlib.ExitStack() as stack:
        places = {} if ground.cluster is None else stack.enter_context(ground.cluster.connected())
        server = stack.enter_context(postgres_server())
        yield _stages(ground, sides, server, places)


def _stages(ground: Ground, sides: Sequence[Side], server: str, places: Mapping[Side, Place]) -> Iterator[Stage]:
    for side in sides:
        with console.working(f"{side}: making the environment"):
            venv = ground.venv(side)
        with staged(side, venv.folder, ground.folder / side, server, places.get(side)) as stage:
            yield stage
