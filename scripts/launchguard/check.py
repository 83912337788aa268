"""The `check` command: everything that can be said of a series without running its tests."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from launchguard.apply import commit_series
from launchguard.errors import LaunchguardError
from launchguard.headers import header_faults, is_merged
from launchguard.modelcheck import check_models
from launchguard.patchfile import patch_bytes, read_patch
from launchguard.roundtrip import round_trip_faults
from launchguard.series import read_series, series_faults
from launchguard.treecheck import tree_faults
from launchguard.trial import Outcome, try_series
from launchguard.typecheck import type_faults

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from launchguard.fetch import Tree
    from launchguard.project import Project


@dataclass(frozen=True)
class Checked:
    """One check: its faults, a line each, what is only worth knowing, and why it could not tell."""

    name: str
    faults: tuple[str, ...]
    warnings: tuple[str, ...] = ()
    untold: str = ""


@dataclass(frozen=True)
class Subject:
    """What the checks look at."""

    project: Project
    tree: Tree

    @property
    def folder(self) -> Path:
        return self.project.track_folder(self.tree.track.name)

    @property
    def slugs(self) -> list[str]:
        return read_series(self.folder)

    @functools.cached_property
    def head(self) -> str:
        """The commit with the whole series."""
        with self.project.lock(self.tree.git.folder.name):
            return commit_series(self.tree, self.folder, self.slugs)


def check(project: Project, tree: Tree) -> list[Checked]:
    """Run every check; the later ones only where the series can be read and applied.

    Returns:
        One entry for each check that ran.
    """
    subject = Subject(project, tree)
    done = []
    for one in CHECKS:
        done.append(one(subject))
        if done[-1].faults and one in STOPPERS:
            break
    return done


def _check_series(subject: Subject) -> Checked:
    return Checked("series file and patch files", tuple(series_faults(subject.folder)))


def _check_headers(subject: Subject) -> Checked:
    faults: list[str] = []
    for slug in subject.slugs:
        try:
            patch = read_patch(subject.folder, slug)
        except LaunchguardError as error:
            faults.append(str(error))
            continue
        faults += header_faults(patch)
        if is_merged(patch):
            faults.append(
                f"{slug}.patch: merged upstream, yet still in the series; drop it, or correct its Upstream-Status"
            )
    return Checked("patch headers", tuple(faults))


def _check_applies(subject: Subject) -> Checked:
    trials = try_series(subject.tree.git, subject.tree.base, subject.folder, subject.slugs)
    faults, warnings = [], []
    for trial in trials:
        for file in trial.files:
            text = f"{trial.slug}: {file.path or 'the patch'}: {file.outcome}" + (
                f" ({file.detail})" if file.detail else ""
            )
            if file.outcome is Outcome.OFFSET:
                warnings.append(f"{text}; refresh writes it straight")
            elif file.outcome is not Outcome.CLEAN:
                faults.append(text)
    return Checked("applies without fuzz", tuple(faults), tuple(warnings))


def _check_round_trip(subject: Subject) -> Checked:
    patches = {slug: patch_bytes(subject.folder, slug) for slug in subject.slugs}
    with subject.project.lock(subject.tree.git.folder.name):
        faults = round_trip_faults(subject.tree, patches)
    return Checked("import and export return every byte", tuple(f"{fault}; run refresh" for fault in faults))


def _check_tree(subject: Subject) -> Checked:
    return Checked(
        "patched files keep Airflow's rules", tuple(tree_faults(subject.project, subject.tree, subject.head))
    )


def _check_types(subject: Subject) -> Checked:
    name = "no type errors that the base has not"
    try:
        return Checked(name, tuple(type_faults(subject.project, subject.tree, subject.head)))
    except LaunchguardError as error:
        return Checked(name, (), untold=str(error))


def _check_models(subject: Subject) -> Checked:
    name = "generated models are in step"
    try:
        found = check_models(subject.project, subject.tree, subject.head)
    except LaunchguardError as error:
        return Checked(name, (), untold=str(error))
    return Checked(name, found.faults, found.warnings)


CHECKS: tuple[Callable[[Subject], Checked], ...] = (
    _check_series,
    _check_headers,
    _check_applies,
    _check_round_trip,
    _check_tree,
    _check_types,
    _check_models,
)
STOPPERS = (_check_series, _check_headers, _check_applies)
