"""Tests every prefix of a series, since each of them may be shipped."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from launchguard import console
from launchguard.apply import commit_series
from launchguard.check import Checked
from launchguard.modelcheck import check_models
from launchguard.process import run
from launchguard.pytestrun import Job, Options, run_job
from launchguard.results import Outcome
from launchguard.series import read_series
from launchguard.suites import QUICK, SUITES, invocations
from launchguard.typecheck import type_faults
from launchguard.venv import Variant, lane_venv

if TYPE_CHECKING:
    from collections.abc import Iterator

    from launchguard.fetch import Tree
    from launchguard.project import Project
    from launchguard.track import Lane

IMPORTS = (
    "airflow.models.taskinstance",
    "airflow.jobs.scheduler_job_runner",
    "airflow.providers.cncf.kubernetes.executors.kubernetes_executor",
    "airflow.providers.cncf.kubernetes.operators.pod",
)


def check_prefixes(project: Project, tree: Tree, lane: Lane) -> Checked:
    """Import and test the tree after each patch, on one lane; what a prefix broke is a fault with its slug."""
    slugs = read_series(project.track_folder(tree.track.name))
    faults = [
        f"after {slug}: {fault}"
        for n, slug in enumerate(slugs, 1)
        for fault in _prefix_faults(project, tree, lane, slugs[:n])
    ]
    return Checked(f"every prefix imports and passes its tests on {lane.name}", tuple(faults))


def _prefix_faults(project: Project, tree: Tree, lane: Lane, slugs: list[str]) -> Iterator[str]:
    with project.lock(tree.git.folder.name):
        head = commit_series(tree, project.track_folder(tree.track.name), slugs)
    console.note(f"prefix of {len(slugs)}: up to {slugs[-1]}")
    yield from type_faults(project, tree, head)
    yield from check_models(project, tree, head).faults
    venv = lane_venv(project, tree, lane, Variant.PATCHED, head)
    imported = run(venv.python, "-c", f"import {', '.join(IMPORTS)}", cwd=venv.folder, check=False)
    if imported.code:
        yield f"import fails: {imported.messages.strip().splitlines()[-1]}"
        return
    for name in QUICK:
        if not invocations(SUITES[name], tree, lane, head):
            continue
        done = run_job(project, Job(tree, lane, SUITES[name], Variant.PATCHED, head), Options(jobs=os.cpu_count() or 1))
        failed = sorted(done.ids(Outcome.FAILED))
        yield from (f"{name}: {test} fails" for test in failed)
        if not done.complete or not done.tests:
            yield f"{name}: no whole run; see {done.log}"
