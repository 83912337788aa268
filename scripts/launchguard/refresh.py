"""The `refresh` command: writes the tree's commits back as patches, byte for byte."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from launchguard import journal
from launchguard.errors import LaunchguardError
from launchguard.export import export
from launchguard.roundtrip import round_trip_faults
from launchguard.series import cut_series, read_series, rewrite_series
from launchguard.treestate import TreeState, load_state, save_state, series_key

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from launchguard.fetch import Tree
    from launchguard.project import Project

    Patches = Mapping[str, bytes]


@dataclass(frozen=True)
class Refreshed:
    """What a refresh wrote; each tuple holds slugs."""

    track: str
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    kept: tuple[str, ...]


def refresh(project: Project, tree: Tree) -> Refreshed:
    """Export the tree's commits over the track's patches.

    Args:
        project: where the patches are.
        tree: where the commits are.

    Raises:
        LaunchguardError: uncommitted work, a half-done step, no commits at all over a full series, patches
            that changed since they were applied, or a commit that no patch can carry.
    """
    folder = project.track_folder(tree.track.name)
    with project.lock(tree.git.folder.name):
        _refuse_unfinished(tree)
        before = {slug: _read(folder / f"{slug}.patch") for slug in read_series(folder)}
        patches = export(tree.git, tree.base, "HEAD")
        behind = _not_applied(tree, before, patches)
        _refuse_losing(tree, before, {**patches, **behind}, empty=not patches)
        _refuse_unreturned(tree, patches)
        _write(folder, before, {**patches, **behind})
        until = list(patches)[-1] if behind else None
        head = tree.git.line("rev-parse", "HEAD")
        save_state(tree.git, TreeState(head=head, key=series_key(tree, patches), until=until))
    return _summary(tree.track.name, before, {**patches, **behind})


def _refuse_unfinished(tree: Tree) -> None:
    git = tree.git
    operation = git.open_operation()
    if operation is not None:
        raise LaunchguardError(f"a {operation} is half done in {git.folder}; finish or abort it there, then refresh")
    if load_state(git).moving:
        raise LaunchguardError(f"an apply in {git.folder} was interrupted; run `launchguard apply` again, then refresh")
    changes = git.changes()
    if changes:
        raise LaunchguardError(
            f"{git.folder} has {len(changes)} uncommitted changes ({changes[0].strip()} ...); "
            "commit them into the patch they belong to, then refresh"
        )
    if git.run("merge-base", "--is-ancestor", tree.base, "HEAD", check=False).code:
        raise LaunchguardError(f"{git.folder} does not stand on the track's base; rebase it onto {tree.base[:12]}")


def _not_applied(tree: Tree, before: Patches, patches: Patches) -> dict[str, bytes]:
    """Give the patches behind the one that `apply --until` stopped at: they stay as they are."""
    until = load_state(tree.git).until
    if until is None or until not in before:
        return {}
    slugs = list(before)
    return {slug: before[slug] for slug in slugs[slugs.index(until) + 1 :] if slug not in patches}


def _refuse_losing(tree: Tree, before: Patches, after: Patches, *, empty: bool) -> None:
    folder = tree.git.folder
    if before and empty:
        raise LaunchguardError(
            f"{folder} has no commits above its base, and refresh would delete all {len(before)} patches; "
            "run apply first"
        )
    state = load_state(tree.git)
    applied = cut_series(list(before), state.until if state.until in before else None)
    lost = [f"{slug}.patch" for slug, content in before.items() if content and after.get(slug) != content]
    if lost and series_key(tree, {slug: before[slug] for slug in applied}) != state.key:
        raise LaunchguardError(
            f"the track's patches changed since they were applied to {folder}, and refresh would undo that in "
            f"{', '.join(lost)}; keep the tree's commits (git branch my-work), run apply --force, put them on top"
        )


def _refuse_unreturned(tree: Tree, patches: Patches) -> None:
    faults = round_trip_faults(tree, patches)
    if faults:
        raise LaunchguardError(
            "commits that the next apply would bring back changed; reword them (git commit --amend, or rebase -i):\n  "
            + "\n  ".join(faults)
        )


def _write(folder: Path, before: Patches, after: Patches) -> None:
    series = folder / "series"
    text = series.read_text(encoding="utf-8") if series.is_file() else ""
    files: dict[str, bytes | None] = {f"{slug}.patch": content for slug, content in after.items()}
    files |= {f"{slug}.patch": None for slug in before if slug not in after}
    files["series"] = rewrite_series(text, list(after)).encode()
    journal.write(folder, files)


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def _summary(track: str, before: Patches, after: Patches) -> Refreshed:
    return Refreshed(
        track,
        added=tuple(slug for slug in after if slug not in before),
        changed=tuple(slug for slug in after if slug in before and after[slug] != before[slug]),
        removed=tuple(slug for slug in before if slug not in after),
        kept=tuple(slug for slug in after if after[slug] == before.get(slug)),
    )
