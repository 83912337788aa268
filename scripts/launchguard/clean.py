"""The `clean` command: removes what was made, never what somebody may still need."""

from __future__ import annotations

import contextlib
import shutil
from typing import TYPE_CHECKING

from launchguard.errors import LaunchguardError
from launchguard.fetch import SERIES_BRANCH, Tree
from launchguard.gitcmd import Git
from launchguard.track import load_track
from launchguard.treestate import unknown_work

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from launchguard.project import Project

KINDS = ("trees", "venvs", "wheels", "snapshots", "results", "runs", "report", "logs")
# The branches that launchguard makes; every other one is somebody's work.
OWN_BRANCHES = frozenset({SERIES_BRANCH, "base"})


def clean(project: Project, what: Sequence[str], *, force: bool = False) -> list[str]:
    """Remove parts of `build/`.

    Args:
        project: whose.
        what: the kinds to remove; all but the downloads when empty, those too with `all`.
        force: also trees that hold work which no patch has.

    Returns:
        The kinds that were there.

    Raises:
        LaunchguardError: a tree holds such work and `force` is not set, or another launchguard is
            working; nothing was removed then.
    """
    kinds = [*KINDS, "cache"] if "all" in what else list(what) or list(KINDS)
    folders = _tree_folders(project) if "trees" in kinds else []
    with contextlib.ExitStack() as held:
        for name in ("run", "downloads", *(folder.name for folder in folders)):
            held.enter_context(project.lock(name))
        if not force:
            for folder in folders:
                _refuse_losing_work(project, folder)
        return [kind for kind in kinds if _remove(project.build / kind)]


def _remove(folder: Path) -> bool:
    """Rename first: a kill must not leave half a tree where the next command looks for a whole one."""
    aside = folder.with_name(f".{folder.name}.removed")
    shutil.rmtree(aside, ignore_errors=True)
    if not folder.exists():
        return False
    folder.rename(aside)
    shutil.rmtree(aside)
    return True


def _tree_folders(project: Project) -> list[Path]:
    found = sorted(path.parent for path in (project.build / "trees").glob("*/.git"))
    return [folder for folder in found if not folder.name.startswith(".")]  # not what a killed command left


def _refuse_losing_work(project: Project, folder: Path) -> None:
    tree = _tree_at(project, folder)
    if tree is None:
        raise LaunchguardError(f"{folder} belongs to no track here; move it away, or remove it with --force")
    unknown = unknown_work(tree, folder=project.track_folder(tree.track.name))
    if unknown is not None:
        raise LaunchguardError(unknown)
    listed = tree.git.run("for-each-ref", "--format=%(refname:short)", "refs/heads", "refs/stash").text.split()
    kept = [name for name in listed if name not in OWN_BRANCHES]
    if kept:
        raise LaunchguardError(
            f"{folder} holds {', '.join(kept)}, which go with it; take them out (git push), or remove it with --force"
        )


def _tree_at(project: Project, folder: Path) -> Tree | None:
    for name in project.tracks():
        for source in ("sdist", "git"):
            if project.tree(name, source) == folder:
                return Tree(load_track(project, name), source, Git(folder))
    return None
