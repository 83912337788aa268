"""The `fetch` command: from a track's pin to a source tree."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from typing import TYPE_CHECKING

from launchguard import console
from launchguard.basetree import BASE_REF, import_base
from launchguard.download import fetch_sdist, is_cached
from launchguard.errors import LaunchguardError
from launchguard.gitcmd import Git, init_repository, require_git
from launchguard.gitsource import import_git_base, is_pinned
from launchguard.treestate import TreeState, save_state

if TYPE_CHECKING:
    from collections.abc import Callable
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
    folder = project.tree(track.name, source)
    if not _ready(folder, track, source):
        if source == "sdist":
            fetch_sdists(project, track)
        with project.lock(folder.name), console.working(f"making the source tree of Airflow {track.name}"):
            if source == "git":
                _make_tree(folder, lambda git: import_git_base(git, track, url=url))
            else:
                _make_tree(folder, lambda git: import_base(git, project, track))
    return Tree(track, source, Git(folder))


def fetch_sdists(project: Project, track: Track) -> None:
    """Bring every sdist of a track into the cache; offline when they are all there."""
    missing = [part for part in track.parts if not is_cached(project, part.sdist)]
    if not missing:
        return
    with project.lock("downloads"), console.bytes_progress(sum(part.sdist.size for part in missing)) as advance:
        for part in missing:
            fetch_sdist(project, part, advance)


def _ready(folder: Path, track: Track, source: str) -> bool:
    if not _is_repository(folder):
        return False
    git = Git(folder)
    base = git.resolve(BASE_REF)
    if source == "git":
        return base is not None and is_pinned(git, track)
    return base == track.base_commit


def _is_repository(folder: Path) -> bool:
    """Tell whether the folder has a whole repository of its own; git would go on with one further up."""
    found = (folder / ".git").is_dir() and Git(folder).run("rev-parse", "--git-dir", check=False).text.strip()
    return found == ".git"


def _make_tree(folder: Path, import_into: Callable[[Git], str]) -> None:
    """Build the repository aside and move it into place whole, so that a kill leaves no half tree."""
    if _is_repository(folder):  # a tree of an older pin: keep its history, give it the new base
        import_into(Git(folder))
        return
    if folder.is_dir() and any(folder.iterdir()):
        raise LaunchguardError(f"{folder} is not a whole git repository; move it away, then run this again")
    aside = folder.with_name(f".{folder.name}.new")
    shutil.rmtree(aside, ignore_errors=True)
    git = init_repository(aside)
    base = import_into(git)
    git.run("checkout", "--quiet", "-B", SERIES_BRANCH, base)
    save_state(git, TreeState(head=base))
    aside.rename(folder)
