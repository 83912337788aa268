"""The `fetch` command: from a track's pin to a source tree."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from launchguard import console
from launchguard.basetree import BASE_REF, import_base
from launchguard.download import cached_path, fetch_sdist
from launchguard.gitcmd import Git, init_repository, require_git
from launchguard.gitsource import fetch_git_base

if TYPE_CHECKING:
    from pathlib import Path

    from launchguard.project import Project
    from launchguard.track import Track

SERIES_BRANCH = "launchguard"


@dataclass(frozen=True)
class Tree:
    """A source tree: its repository, where it stands on disk, and what it was made from."""

    track: Track
    source: str
    git: Git

    @property
    def base(self) -> str:
        commit = self.git.resolve(BASE_REF)
        return commit or ""


def fetch(project: Project, track: Track, *, source: str = "sdist", url: str | None = None) -> Tree:
    """Make sure that the track's base stands in its tree; nothing happens where it does already.

    Args:
        project: where.
        track: the pin.
        source: `sdist` (a package index is enough) or `git` (Airflow's repository).
        url: the repository for `git`.

    Raises:
        LaunchguardError: the sources cannot be had, or differ from the pin.
    """
    require_git()
    fetch_sdists(project, track)
    folder = project.tree(track.name, source)
    if _ready(folder, track, source):
        return Tree(track, source, Git(folder))
    with project.lock(folder.name):
        if source == "git":
            fetch_git_base(folder, track, url=url)
        else:
            _make_tree(project, track)
    return Tree(track, source, Git(folder))


def fetch_sdists(project: Project, track: Track) -> None:
    """Bring every sdist of a track into the cache; offline when they are all there."""
    missing = [part for part in track.parts if not cached_path(project, part.sdist).exists()]
    if not missing:
        return
    with project.lock("downloads"), console.bytes_progress(sum(part.sdist.size for part in missing)) as advance:
        for part in missing:
            fetch_sdist(project, part, advance)


def _ready(folder: Path, track: Track, source: str) -> bool:
    if not (folder / ".git").is_dir():
        return False
    base = Git(folder).resolve(BASE_REF)
    return base is not None and (source != "sdist" or base == track.base_commit)


def _make_tree(project: Project, track: Track) -> None:
    """Build the repository aside and move it into place whole, so that a kill leaves no half tree."""
    folder = project.tree(track.name, "sdist")
    aside = folder.with_name(f".{folder.name}.new")
    if (folder / ".git").is_dir():  # a tree of an older pin: keep its history, give it the new base
        import_base(Git(folder), project, track)
        return
    shutil.rmtree(aside, ignore_errors=True)
    git = init_repository(aside)
    with console.working(f"unpacking the sources of Airflow {track.name}"):
        commit = import_base(git, project, track)
        git.run("checkout", "--quiet", "-B", SERIES_BRANCH, commit)
    aside.rename(folder)
