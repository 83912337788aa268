"""What launchguard last did in a tree, so that it never throws away what somebody else did there.

See docs/decisions/0002-tree-states.md for the states and who may change them.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import msgspec

from launchguard.snapshot import work_tree_id

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from launchguard.fetch import Tree
    from launchguard.gitcmd import Git

BACKUPS = "refs/launchguard/backup"
BRANCH = "launchguard"
# What a git that was killed in the middle of a move leaves behind.
LOCKS = ("index.lock", "HEAD.lock", f"refs/heads/{BRANCH}.lock")


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


def series_key(tree: Tree, patches: Mapping[str, bytes]) -> str:
    """Hash everything that an application's result depends on: the base, and the patches by slug in order."""
    digest = hashlib.sha256(tree.base.encode())
    for slug, content in patches.items():
        digest.update(f"\0{slug}\0{len(content)}\0".encode() + content)
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
    if _unknown_tips(tree, state):
        return _advice(git, f"commits that {folder} does not have")
    if git.changes() and not state.moving:
        return _advice(git, "uncommitted changes")
    return None


def _unknown_tips(tree: Tree, state: TreeState) -> list[str]:
    """List the commits at HEAD and at our branch that are not ours; a half-done rebase has both."""
    tips = [tree.git.resolve(name) for name in ("HEAD", f"refs/heads/{BRANCH}")]
    return [tip for tip in dict.fromkeys(tips) if tip and tip not in {state.head, state.moving, tree.base}]


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
    tips = _unknown_tips(tree, load_state(git))
    if git.open_operation() is None and not tips and not git.changes():
        return None
    parents = [word for tip in dict.fromkeys([git.line("rev-parse", "HEAD"), *tips]) for word in ("-p", tip)]
    commit = git.line("commit-tree", work_tree_id(git), *parents, "-m", "Work set aside by launchguard")
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
    for name in LOCKS:
        (git.folder / ".git" / name).unlink(missing_ok=True)  # we hold the tree's lock: they are a dead git's
    for operation in ("am", "rebase", "cherry-pick"):
        git.run(operation, "--quit", check=False)
    git.run("checkout", "--quiet", "--force", "-B", BRANCH, commit)
    git.run("clean", "--quiet", "-d", "--force")
    save_state(git, state)
