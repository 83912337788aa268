"""The `rebase` command: carries a series to another track's base and tells how each patch fares."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import StrEnum
from typing import TYPE_CHECKING

from launchguard import journal
from launchguard.apply import AM_OPTIONS, scratch_worktree
from launchguard.errors import LaunchguardError
from launchguard.export import export
from launchguard.patchfile import read_patch
from launchguard.series import read_series
from launchguard.trial import PatchTrial, failures, try_series
from launchguard.upstreamed import Evidence, Upstreamed, find_upstreamed

if TYPE_CHECKING:
    from pathlib import Path

    from launchguard.fetch import Tree
    from launchguard.gitcmd import Git
    from launchguard.project import Project


class Carried(StrEnum):
    """How a patch fares on the new base."""

    CLEAN = "clean"
    MERGED = "merged by three-way"
    NEEDS_WORK = "needs work"
    UPSTREAM = "already upstream"


@dataclass(frozen=True)
class PatchCarried:
    """One patch on the new base, with the evidence for what is said of it."""

    slug: str
    outcome: Carried
    evidence: tuple[Upstreamed, ...]
    trial: PatchTrial
    conflicts: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rebased:
    """A series on another base; `written` lists the files that a `--write` put into its folder."""

    track: str
    onto: str
    patches: tuple[PatchCarried, ...]
    written: tuple[str, ...] = ()

    @property
    def needs_work(self) -> bool:
        return any(patch.outcome is not Carried.CLEAN for patch in self.patches)


def rebase(project: Project, tree: Tree, onto: Tree, *, write: bool = False) -> Rebased:
    """Try each patch of a series on another track's base; drops nothing by itself.

    A patch that goes neither cleanly nor by a three-way merge is skipped for the patches behind it, and
    with `write` it is carried over as it is, so that `apply` on the new track names it until it is mended
    or taken out by hand.

    Args:
        project: where both series are.
        tree: the series' own tree.
        onto: the tree whose base takes it.
        write: put the patches into the other track's folder.

    Raises:
        LaunchguardError: both are one track, the series does not apply to its own track, or (with `write`) the
            other track has a series already.
    """
    if tree.track.name == onto.track.name:
        raise LaunchguardError(
            f"that is track {onto.track.name} onto itself; "
            "name the one to carry: launchguard --track TRACK rebase --onto ..."
        )
    folder, target = project.track_folder(tree.track.name), project.track_folder(onto.track.name)
    slugs = read_series(folder)
    if write and read_series(target):
        raise LaunchguardError(f"track {onto.track.name} has a series of its own; empty its series file first")
    _make_preimages(project, tree, slugs)
    trials = try_series(onto.git, onto.base, folder, slugs)
    with project.lock(onto.git.folder.name), scratch_worktree(onto) as plain:
        scratch = replace(plain, borrowed=tree.git.folder)
        related = scratch.run("merge-base", tree.base, onto.base, check=False).code == 0
        history = tree.base if related else None
        carried = tuple(_carry(scratch, folder, trial, history=history, new=onto.base) for trial in trials)
        patches = export(scratch, onto.base, "HEAD")
    written = _write(folder, target, slugs, patches) if write else ()
    return Rebased(tree.track.name, onto.track.name, carried, written)


def _make_preimages(project: Project, tree: Tree, slugs: list[str]) -> None:
    """Have the tree's repository hold every file that a patch stands on: a three-way merge starts from these.

    A trial on the series' own base writes them.
    """
    folder = project.track_folder(tree.track.name)
    failed = [trial.slug for trial in failures(try_series(tree.git, tree.base, folder, slugs))]
    if failed:
        raise LaunchguardError(
            f"{', '.join(failed)} of track {tree.track.name} do not apply to their own base; see `launchguard apply`"
        )


def _carry(scratch: Git, folder: Path, trial: PatchTrial, *, history: str | None, new: str) -> PatchCarried:
    path = folder / f"{trial.slug}.patch"
    evidence = tuple(find_upstreamed(scratch, read_patch(folder, trial.slug), path, old=history, new=new))
    if evidence:
        return PatchCarried(trial.slug, Carried.UPSTREAM, evidence, trial)
    for outcome, options in ((Carried.CLEAN, ()), (Carried.MERGED, ("--3way",))):
        before = scratch.resolve("HEAD")
        if scratch.run("am", *AM_OPTIONS, *options, path, check=False).code == 0:
            if scratch.resolve("HEAD") != before:
                return PatchCarried(trial.slug, outcome, (), trial)
            return PatchCarried(trial.slug, Carried.UPSTREAM, (Upstreamed(Evidence.NOTHING_LEFT),), trial)
        conflicts = scratch.line("diff", "--name-only", "--diff-filter=U").split("\n")
        scratch.run("am", "--abort", check=False)
    return PatchCarried(trial.slug, Carried.NEEDS_WORK, (), trial, tuple(name for name in conflicts if name))


def _write(folder: Path, target: Path, slugs: list[str], patches: dict[str, bytes]) -> tuple[str, ...]:
    files: dict[str, bytes | None] = {
        f"{slug}.patch": patches.get(slug, (folder / f"{slug}.patch").read_bytes()) for slug in slugs
    }
    series = folder / "series"
    files["series"] = series.read_bytes() if series.is_file() else b""
    journal.write(target, files)
    return tuple(files)
