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
    applied = apply(project, tree)
    if applied.failed:
        raise LaunchguardError("the series does not apply; see `launchguard apply`")
    whole = load_state(tree.git)
    stop = _commit_of(tree, slug) if slug else applied.head
    tree.git.run("reset", "--hard", "--quiet", stop)
    code = _shell(tree, slug or tree.track.name, command)
    if code:
        backup = back_up(tree)
        move_branch(tree, whole.head, whole)
        return Edited(kept=False, backup=backup)
    if slug:
        _fold_in(tree, slug)
        _put_on_top(tree, stop, whole.head)
    return Edited(kept=True, refreshed=refresh(project, tree))


def _commit_of(tree: Tree, slug: str) -> str:
    wanted = f"^Launchguard-Slug: {slug}$"
    commit = tree.git.line("log", "--format=%H", "-1", f"--grep={wanted}", f"{tree.base}..HEAD")
    if not commit:
        raise LaunchguardError(f"the series has no patch {slug!r}; `launchguard status` lists them")
    return commit


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
    if git.open_operation() is not None or not git.changes():
        return
    git.run("add", "--all")
    author = git.line("log", "-1", "--format=%an%n%ae%n%aI", "HEAD").splitlines()
    if _commit_of(tree, slug) != git.resolve("HEAD"):
        raise LaunchguardError(
            f"commits stand above {slug} and changes are left uncommitted; commit them, then refresh"
        )
    names = ("GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_AUTHOR_DATE")
    git.run("commit", "--quiet", "--amend", "--no-edit", "--no-verify", env=dict(zip(names, author, strict=True)))


def _put_on_top(tree: Tree, old: str, head: str) -> None:
    if old == head:
        return
    picked = tree.git.run("cherry-pick", "--keep-redundant-commits", f"{old}..{head}", check=False)
    if picked.code:
        conflicts = ", ".join(tree.git.line("diff", "--name-only", "--diff-filter=U").split())
        raise LaunchguardError(
            f"a patch behind it conflicts in {conflicts or 'the tree'}: resolve it in {tree.git.folder} "
            "(git add, git cherry-pick --continue), then `launchguard refresh`"
        )
