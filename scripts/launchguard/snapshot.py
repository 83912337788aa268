"""Exports of a tree's content, by the id of that content: what wheels are built and tests are run from."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from launchguard.gitcmd import Git

if TYPE_CHECKING:
    from launchguard.project import Project


def work_tree_id(git: Git) -> str:
    """Write what stands in the work tree now, committed or not, as a git tree; the user's index stays as it is."""
    with tempfile.TemporaryDirectory(prefix="launchguard-snapshot-") as scratch:
        index = Git(git.folder, index=Path(scratch) / "index")
        index.run("read-tree", "HEAD")
        index.run("add", "--all", ".")
        return index.line("write-tree")


def export_tree(project: Project, git: Git, revision: str) -> Path:
    """Give a folder with the files of a commit or tree, made once for each content.

    Args:
        project: whose `build/snapshots` takes it.
        git: the repository.
        revision: a commit or tree.
    """
    tree = git.line("rev-parse", "--verify", f"{revision}^{{tree}}")
    folder = project.build / "snapshots" / tree[:16]
    if folder.is_dir():
        return folder
    aside = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir(parents=True)
    # Not git archive: a checkout's .gitattributes would make that leave files out.
    index = Git(git.folder, index=aside / ".index")
    index.run("read-tree", tree)
    index.run("checkout-index", "--all", "--quiet", f"--prefix={aside}/")
    (aside / ".index").unlink()
    aside.rename(folder)
    return folder
