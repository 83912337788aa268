"""The `edit` command: a shell in the tree whose exit code decides whether the work is kept."""

from __future__ import annotations

import os
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

from launchguard import console
from launchguard.apply import apply
from launchguard.errors import LaunchguardError
from launchguard.refresh import Refreshed, refresh
from launchguard.treestate import back_up, load_state, move_branch

if TYPE_CHECKING:
    from launchguard.fetch import Tree
    from launchguard.project import Project

MARK = "LAUNCHGUARD_EDIT"


@dataclass(frozen=True)
class Edited:
    """How an edit ended; `refreshed` is None when it was discarded."""

    kept: bool
    refreshed: Refreshed | None = None
    backup: str | None = None


def edit(project: Project, tree: Tree, *, slug: str | None = None, command: str | None = None) -> Edited:
    """Open a shell in the tree, then refresh (exit 0) or put everything back (any other code).

    Args:
        project: where the patches are.
        tree: the tree.
        slug: stop at this patch; what changes goes into it, and the patches behind it are put on top again.
        command: run this shell command instead of an interactive shell.

    Raises:
        LaunchguardError: nested in another edit, the series does not apply, or the patches behind `slug`
            conflict with the change (the tree is left at the conflict).
    """
    if os.environ.get(MARK):
        raise LaunchguardError(f"this shell is an edit of {os.environ[MARK]} already; exit it first")
    whole = apply(project, tree)
    if whole.failed:
        raise LaunchguardError("the series does not apply; see `launchguard apply`")
    state = load_state(tree.git)
    # Recorded as an apply --until, so that a refresh at any time keeps the patches behind.
    start = apply(project, tree, until=slug).head if slug else whole.head
    if _shell(tree, slug or tree.track.name, command):
        with project.lock(tree.git.folder.name):
            backup = back_up(tree)
            move_branch(tree, whole.head, state)
        return Edited(kept=False, backup=backup)
    if slug:
        _fold_in(tree, slug)
        _put_on_top(tree, start, whole.head)
    return Edited(kept=True, refreshed=refresh(project, tree))


def _shell(tree: Tree, name: str, command: str | None) -> int:
    shell = os.environ.get("SHELL") or shutil.which("sh") or "/bin/sh"
    if command is None:
        console.note(
            f"a shell in {tree.git.folder}\n"
            "change files; commit, or leave that to me when you named a patch\n"
            "exit 0 keeps the work and refreshes the patches, any other exit (exit 1) discards it"
        )
    words = [shell] if command is None else [shell, "-c", command]
    return subprocess.run(words, cwd=tree.git.folder, env=os.environ | {MARK: name}, check=False).returncode


def _fold_in(tree: Tree, slug: str) -> None:
    """Put what was left uncommitted into the patch that was named."""
    git = tree.git
    operation = git.open_operation()
    if operation is not None:
        raise LaunchguardError(f"a {operation} is half done in {git.folder}; finish it, then `launchguard refresh`")
    if not git.changes():
        return
    if f"\nLaunchguard-Slug: {slug}\n" not in git.run("log", "-1", "--format=%B", "HEAD").text:
        raise LaunchguardError(
            f"commits stand above {slug} and changes are left uncommitted in {git.folder}; "
            "commit them, then `launchguard refresh`"
        )
    git.run("add", "--all")
    git.run("commit", "--quiet", "--amend", "--no-edit", "--no-verify")


def _put_on_top(tree: Tree, old: str, head: str) -> None:
    if old == head:
        return
    picked = tree.git.run("cherry-pick", "--keep-redundant-commits", f"{old}..{head}", check=False)
    if picked.code:
        conflicts = ", ".join(tree.git.run("diff", "--name-only", "--diff-filter=U").text.splitlines())
        raise LaunchguardError(
            f"a patch behind it conflicts in {conflicts or 'the tree'}: resolve it in {tree.git.folder} "
            "(git add, git cherry-pick --continue), then `launchguard refresh`"
        )
