"""Whether the files that a series touches are the same in both kinds of source."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launchguard.fetch import Tree, fetch
from launchguard.gitsource import Comparison, compare_preimages
from launchguard.series import read_series
from launchguard.trial import touched_paths

if TYPE_CHECKING:
    from launchguard.project import Project


def compare_with_sdists(project: Project, tree: Tree) -> list[Comparison]:
    """Compare a git tree's files with the sdists', for the files that the series touches; none for an sdist tree."""
    if tree.source == "sdist":
        return []
    folder = project.track_folder(tree.track.name)
    paths = [path for slug in read_series(folder) for path in touched_paths(tree.git, folder / f"{slug}.patch") or []]
    sdists = fetch(project, tree.track)
    return compare_preimages(sdists.git, tree.git, paths)
