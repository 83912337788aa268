"""What the checks share that run a program in a lane's environment: the environment, and the cache of the answers."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from launchguard.errors import cannot_tell
from launchguard.track import CORE, PROVIDER, SDK
from launchguard.venv import Variant, Venv, lane_contents, lane_venv

if TYPE_CHECKING:
    from pathlib import Path

    from launchguard.fetch import Tree
    from launchguard.project import Project
    from launchguard.track import Lane, Track

# Raised when what a kept answer means has changed.
ANSWER_FORMAT = 1
FROM_TREE = frozenset({CORE, SDK, PROVIDER})


def check_lane(track: Track) -> Lane:
    """Give the first lane that takes all of Airflow from the tree.

    Raises:
        LaunchguardError: there is none (exit code 2: what needs it cannot be told).
    """
    for lane in track.lanes:
        if set(lane.patched) >= FROM_TREE:
            return lane
    raise cannot_tell(f"track {track.name} has no lane that takes {', '.join(sorted(FROM_TREE))} from the tree")


def check_venv(project: Project, tree: Tree) -> Venv:
    """Give the environment of `check_lane`, whose Airflow is the released one.

    The checks put the tree's sources in front of it. So it is the same for every revision, and a check
    never changes the environment that somebody tests a half-done patch in.
    """
    return lane_venv(project, tree, check_lane(tree.track), Variant.UNPATCHED, tree.base)


def answer_path(project: Project, tree: Tree, kind: str, inputs: object) -> Path:
    """Give where the answer of a check is kept: its name is the hash of the environment and of all `inputs`."""
    contents = lane_contents(project, tree, check_lane(tree.track), Variant.UNPATCHED, tree.base)
    key = msgspec.json.encode((ANSWER_FORMAT, contents, tree.track.packages_until, inputs))
    return project.build / "results" / kind / hashlib.sha256(key).hexdigest()[:32]


def keep_answer(path: Path, content: bytes) -> None:
    """Write an answer whole or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.with_name(f".{path.name}.new")
    aside.write_bytes(content)
    aside.replace(path)
