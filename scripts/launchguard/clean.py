"""The `clean` command: removes what was made, never what somebody may still need."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from launchguard.errors import LaunchguardError
from launchguard.fetch import Tree
from launchguard.gitcmd import Git
from launchguard.track import load_track
from launchguard.treestate import unknown_work

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from launchguard.project import Project

KINDS = ("trees", "venvs", "wheels", "snapshots", "results", "runs", "report", "logs")


def clean(project: Project, what: Sequence[str], *, force: bool = False) -> list[str]:
    """Remove parts of `build/`.

    Args:
        project: whose.
        what: the kinds to remove; all but the downloads when empty, those too with `all`.
        force: also trees that hold work which no patch has.

    Returns:
        The kinds that were there.

    Raises:
        LaunchguardError: a tree holds such work and `force` is not set; nothing was removed then.
    """
    kinds = [*KINDS, "cache"] if "all" in what else list(what) or list(KINDS)
    if "trees" in kinds and not force:
        _refuse_losing_work(project)
    removed = [kind for kind in kinds if (project.build / kind).exists()]
    for kind in removed:
        shutil.rmtree(project.build / kind)
    return removed


def _refuse_losing_work(project: Project) -> None:
    for folder in sorted((project.build / "trees").glob("*/.git")):
        tree = _tree_at(project, folder.parent)
        unknown = unknown_work(tree, folder=project.track_folder(tree.track.name)) if tree else None
        if unknown is not None:
            raise LaunchguardError(unknown)


def _tree_at(project: Project, folder: Path) -> Tree | None:
    name, _, source = folder.name.partition("-")
    return Tree(load_track(project, name), source or "sdist", Git(folder)) if name in project.tracks() else None
