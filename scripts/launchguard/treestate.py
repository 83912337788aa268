"""What launchguard last did in a tree, so that it never throws away what somebody else did there.

See docs/decisions/0002-tree-states.md for the states and who may change them.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from launchguard.errors import LaunchguardError
from launchguard.snapshot import work_tree_id

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from launchguard.fetch import Tree
    from launchguard.gitcmd import Git

BACKUPS = "refs/launchguard/backup"


class TreeState(msgspec.Struct, frozen=True):
    """The record in a tree's git folder.

    `head` is the commit that we left the branch at, `key` says what it was made from, and `moving` is a
    commit that we were on the way to when we were last heard of.
    """

    head: str = ""
    key: str = ""
    until: str | None = None
    moving: str = ""


def _record(git: Git) -> Path:
    return git.folder / ".git" / "launchguard.json"


def load_state(git: Git) -> TreeState:
    path = _record(git)
    return msgspec.json.decode(path.read_bytes(), type=TreeState) if path.is_file() else TreeState()


def save_state(git: Git, state: TreeState) -> None:
    aside = _record(git).with_suffix(".new")
    aside.write_bytes(msgspec.json.encode(state))
    aside.replace(_record(git))


def series_key(tree: Tree, folder: Path, slugs: Sequence[str]) -> str:
    """Hash everything that an application's result depends on."""
    digest = hashlib.sha256(tree.base.encode())
    for slug in slugs:
        path = folder / f"{slug}.patch"
        if not path.is_file():
            raise LaunchguardError(f"the series names {slug}, but there is no {path.name} in {folder}")
        digest.update(f"\0{slug}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def unknown_work(tree: Tree, *, folder: Path) -> str | None:
    """Say what stands in the tree that launchguard did not put there; None when there is nothing.

    Args:
        tree: the tree.
        folder: the track's folder, for the advice.
    """
    git = tree.git
    state = load_state(git)
    operation = git.open_operation()
    if operation is not None:
        return f"a {operation} is half done in {git.folder}; finish or abort it there first"
    head = git.resolve("HEAD") or ""
    if head not in {state.head, state.moving, tree.base}:
        return _advice(git, f"commits that {folder} does not have")
    if git.changes() and not state.moving:
        return _advice(git, "uncommitted changes")
    return None


def _advice(git: Git, what: str) -> str:
    return (
        f"{git.folder} holds {what}; keep them with `launchguard refresh` (after a commit), "
        "or with a branch of your own (git branch my-work), or discard them with --force"
    )


def back_up(tree: Tree) -> str | None:
    """Keep what a forced step is about to discard under a ref of its own.

    Returns:
        The ref's name, or None when there was nothing to keep.
    """
    git = tree.git
    if git.open_operation() is None and git.resolve("HEAD") == load_state(git).head and not git.changes():
        return None
    commit = git.line("commit-tree", work_tree_id(git), "-p", "HEAD", "-m", "Work set aside by launchguard")
    ref = f"{BACKUPS}/{commit[:12]}"
    git.run("update-ref", ref, commit)
    return ref


def move_branch(tree: Tree, commit: str, state: TreeState) -> None:
    """Put the branch, index and files at `commit`; a kill in between is made good by the next call.

    Args:
        tree: the tree; its lock is held by the caller.
        commit: where to.
        state: what to record once it is there.
    """
    git = tree.git
    save_state(git, msgspec.structs.replace(load_state(git), moving=commit))
    (git.folder / ".git" / "index.lock").unlink(missing_ok=True)  # we hold the tree's lock: it is a dead git's
    for operation in ("am", "rebase", "cherry-pick"):
        git.run(operation, "--quit", check=False)
    git.run("checkout", "--quiet", "--force", "-B", "launchguard", commit)
    git.run("clean", "--quiet", "-d", "--force")
    save_state(git, state)
