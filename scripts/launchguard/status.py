"""The `status` command: a track's patches, and how the tree stands to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from launchguard.gitcmd import Git
from launchguard.patchfile import PatchFile, read_patch
from launchguard.series import read_series
from launchguard.treestate import load_state

if TYPE_CHECKING:
    from pathlib import Path

    from launchguard.project import Project
    from launchguard.track import Track


@dataclass(frozen=True)
class PatchStatus:
    """One patch of the series."""

    slug: str
    subject: str
    upstream: str
    issue: str
    rules: tuple[str, ...]
    files: int


@dataclass(frozen=True)
class TreeStatus:
    """One source tree; `applied` counts patches, `changes` uncommitted files."""

    folder: str
    exists: bool
    applied: int = 0
    changes: int = 0
    operation: str | None = None


@dataclass(frozen=True)
class TrackStatus:
    """A track as it stands."""

    track: str
    versions: dict[str, str]
    lanes: tuple[str, ...]
    patches: tuple[PatchStatus, ...]
    tree: TreeStatus


def status(project: Project, track: Track, *, source: str = "sdist") -> TrackStatus:
    """Tell how a track and its tree stand; reads only."""
    folder = project.track_folder(track.name)
    return TrackStatus(
        track=track.name,
        versions={part.distribution: part.version for part in track.parts},
        lanes=tuple(track.lane_names()),
        patches=tuple(_patch_status(read_patch(folder, slug)) for slug in read_series(folder)),
        tree=_tree_status(project.tree(track.name, source)),
    )


def _patch_status(patch: PatchFile) -> PatchStatus:
    return PatchStatus(
        slug=patch.slug,
        subject=patch.subject,
        upstream=patch.trailer("Upstream-Status") or "",
        issue=patch.trailer("Upstream-Issue") or "",
        rules=tuple((patch.trailer("Rules") or "").split()),
        files=patch.diff.count(b"\ndiff --git ") + patch.diff.startswith(b"diff --git "),
    )


def _tree_status(folder: Path) -> TreeStatus:
    if not (folder / ".git").is_dir():
        return TreeStatus(str(folder), exists=False)
    git = Git(folder)
    commits = git.line("rev-list", "--count", "refs/launchguard/base..HEAD")
    state = load_state(git)
    return TreeStatus(
        str(folder),
        exists=True,
        applied=int(commits),
        changes=len(git.changes()),
        operation="launchguard apply (interrupted; run it again)" if state.moving else git.open_operation(),
    )
