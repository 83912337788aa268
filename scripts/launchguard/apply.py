"""The `apply` command: one commit a patch on the tree's branch."""

from __future__ import annotations

import contextlib
import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from launchguard.errors import LaunchguardError
from launchguard.gitcmd import Git
from launchguard.patchfile import patch_bytes
from launchguard.series import cut_series, read_series
from launchguard.treestate import TreeState, back_up, load_state, move_branch, series_key, unknown_work
from launchguard.trial import PatchTrial, failure_lines, failures, try_series

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from launchguard.fetch import Tree
    from launchguard.project import Project

# Import and export return every byte only with these: -k keeps [brackets] in a subject, --keep-cr keeps
# CRLF lines, --no-scissors keeps what stands above a scissors line.
AM_OPTIONS = ("--quiet", "--keep", "--keep-cr", "--no-scissors", "--no-3way")


@dataclass(frozen=True)
class Applied:
    """How an application ended.

    Args:
        head: the commit that the branch is at.
        slugs: the patches that are in it.
        trials: how each patch went; empty when nothing had to be done.
        backup: the ref that keeps what a forced application discarded.
    """

    track: str
    tree: str
    head: str
    slugs: tuple[str, ...]
    unchanged: bool
    trials: tuple[PatchTrial, ...] = ()
    backup: str | None = None

    @property
    def failed(self) -> bool:
        return bool(failures(self.trials))


def apply(project: Project, tree: Tree, *, until: str | None = None, force: bool = False) -> Applied:
    """Apply the series to a tree.

    Args:
        project: where the patches are.
        tree: where to; see `fetch`.
        until: the last patch to apply.
        force: discard work in the tree that launchguard does not know (it is kept under a backup ref).

    Raises:
        LaunchguardError: the tree holds such work and `force` is not set.
    """
    folder = project.track_folder(tree.track.name)
    slugs = cut_series(read_series(folder), until)
    key = series_key(tree, {slug: patch_bytes(folder, slug) for slug in slugs})
    with project.lock(tree.git.folder.name):
        if _is_applied(tree, key):
            head = tree.git.resolve("HEAD") or ""
            return Applied(tree.track.name, str(tree.git.folder), head, tuple(slugs), unchanged=True)
        unknown = unknown_work(tree, folder=folder)
        if unknown is not None and not force:
            raise LaunchguardError(unknown)
        trials = tuple(try_series(tree.git, tree.base, folder, slugs))
        if failures(trials):
            return Applied(tree.track.name, str(tree.git.folder), "", (), unchanged=False, trials=trials)
        head = commit_series(tree, folder, slugs)
        backup = back_up(tree)  # after an interrupted move, somebody may have worked on
        move_branch(tree, head, TreeState(head=head, key=key, until=until))
    return Applied(
        tree.track.name, str(tree.git.folder), head, tuple(slugs), unchanged=False, trials=trials, backup=backup
    )


def apply_all(project: Project, tree: Tree) -> Applied:
    """Apply the whole series, for what stands on all of it.

    Raises:
        LaunchguardError: it does not apply; the message names every file that fails.
    """
    applied = apply(project, tree)
    if applied.failed:
        raise LaunchguardError("\n  ".join(["the series does not apply:", *failure_lines(applied.trials)]))
    return applied


def _is_applied(tree: Tree, key: str) -> bool:
    state = load_state(tree.git)
    return (
        state.key == key
        and not state.moving
        and tree.git.resolve("HEAD") == state.head
        and tree.git.open_operation() is None
        and not tree.git.changes()
    )


def commit_series(tree: Tree, folder: Path, slugs: Sequence[str]) -> str:
    """Make the commits of a series on the base, beside the work tree.

    `git am` runs in a linked work tree that has an index but no files; it checks out only what a patch
    touches, so that this costs milliseconds and a kill leaves the real work tree as it was.

    Args:
        tree: the tree whose base is used.
        folder: the track's folder with the patch files.
        slugs: what to commit, in order.

    Returns:
        The last commit's id; the base's when there is nothing to apply.
    """
    if not slugs:
        return tree.base
    with scratch_worktree(tree) as scratch:
        scratch.run("am", *AM_OPTIONS, *(folder / f"{slug}.patch" for slug in slugs))
        return scratch.line("rev-parse", "HEAD")


@contextlib.contextmanager
def scratch_worktree(tree: Tree) -> Iterator[Git]:
    """Give a linked work tree at the base, with an index and no files; gone afterwards."""
    folder = tree.git.folder.with_name(f".{tree.git.folder.name}.am")
    _remove_worktree(tree, folder)
    tree.git.run("worktree", "add", "--quiet", "--no-checkout", "--detach", folder, tree.base)
    try:
        scratch = Git(folder)
        scratch.run("read-tree", "HEAD")
        yield scratch
    finally:
        _remove_worktree(tree, folder)


def _remove_worktree(tree: Tree, folder: Path) -> None:
    tree.git.run("worktree", "unlock", folder, check=False)  # git locks one while it makes it, and may be killed then
    shutil.rmtree(folder, ignore_errors=True)
    tree.git.run("worktree", "prune")
