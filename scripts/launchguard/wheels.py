"""Builds the parts of a tree into wheels, once for each content."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

from launchguard.snapshot import export_tree
from launchguard.uv import uv

if TYPE_CHECKING:
    from pathlib import Path

    from launchguard.gitcmd import Git
    from launchguard.project import Project
    from launchguard.track import Part


def part_key(git: Git, revision: str, part: Part) -> str:
    """Give the git tree id of a part's folder: what its wheel depends on."""
    return git.line("rev-parse", "--verify", f"{revision}:{part.folder}")


def build_wheel(project: Project, git: Git, revision: str, part: Part) -> Path:
    """Give the wheel of a part as it stands in `revision`.

    Built with --no-sources, since the parts' settings name members of a workspace that is not there.

    Args:
        project: whose `build/wheels` keeps it.
        git: the tree's repository.
        revision: a commit or tree.
        part: which one.
    """
    folder = project.build / "wheels" / f"{part.name}-{part_key(git, revision, part)[:16]}"
    done = list(folder.glob("*.whl"))
    if done:
        return done[0]
    aside = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(aside, ignore_errors=True)
    source = export_tree(project, git, revision) / part.folder
    uv("build", "--quiet", "--wheel", "--no-sources", "--out-dir", aside, source)
    shutil.rmtree(folder, ignore_errors=True)
    aside.rename(folder)
    return next(folder.glob("*.whl"))
