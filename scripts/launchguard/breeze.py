"""The breeze runner: upstream's own commands for the same lanes, in a git checkout, with Docker."""

from __future__ import annotations

import os
import shlex
import shutil
from typing import TYPE_CHECKING

from launchguard import console
from launchguard.apply import apply
from launchguard.errors import Exit, LaunchguardError
from launchguard.process import run_logged
from launchguard.track import PARTS, ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from launchguard.fetch import Tree
    from launchguard.project import Project
    from launchguard.track import Lane

CONFIG = "files/airflow-breeze-config"
TEST_TYPES = "Providers[cncf.kubernetes]"


def lane_commands(lane: Lane) -> Iterator[list[str]]:
    """Give the commands that upstream's CI runs for a lane.

    A lane whose patched parts are all of them is a test of the checkout itself; every other one tests the
    provider's wheel on a released Airflow, as upstream's compatibility matrix does.
    """
    tests = ["breeze", "testing", "providers-tests", "--run-in-parallel", "--parallel-test-types", TEST_TYPES]
    if set(lane.patched) >= set(PARTS) - {ROOT}:
        yield [*tests, "--python", lane.python]
        yield ["breeze", "testing", "task-sdk-tests", "--python", lane.python]
        return
    yield [
        *("breeze", "release-management", "prepare-provider-distributions", "--include-not-ready-providers"),
        *("--distribution-format", "wheel", "--skip-tag-check"),
    ]
    released = ["--use-airflow-version", lane.airflow, "--airflow-constraints-reference", f"constraints-{lane.airflow}"]
    skipped = ["--skip-providers", " ".join(lane.breeze.skip_providers)] if lane.breeze.skip_providers else []
    yield [
        *(*tests, "--use-distributions-from-dist", "--distribution-format", "wheel"),
        *(*released, "--install-airflow-with-constraints", "--providers-skip-constraints", *skipped),
        *("--python", lane.python),
    ]


def run_breeze(project: Project, tree: Tree, *, lanes: Sequence[str], dry_run: bool) -> int:
    """Apply the series in a git tree and run the lanes there with the checkout's breeze.

    Args:
        project: where the patches and `breeze-overrides/` are.
        tree: a tree of `--source git`; breeze needs the whole checkout.
        lanes: their names; all when empty.
        dry_run: print the commands and run nothing.

    Returns:
        The exit code: problems when a lane failed.

    Raises:
        LaunchguardError: the series does not apply, or there is no breeze.
    """
    if apply(project, tree).failed:
        raise LaunchguardError("the series does not apply; see `launchguard apply --source git`")
    chosen = [tree.track.lane(name) for name in lanes or tree.track.lane_names()]
    if dry_run:
        for lane in chosen:
            for command in lane_commands(lane):
                console.say(shlex.join(command))
        return Exit.GOOD
    if shutil.which("breeze") is None:
        raise LaunchguardError(
            f"no breeze on PATH; install the checkout's own: uv tool install -e {tree.git.folder}/dev/breeze"
        )
    install_overrides(project, tree.git.folder)
    results = {lane.name: _run_lane(project, tree, lane) for lane in chosen}
    for name, good in results.items():
        console.say(f"{name}: {'good' if good else 'failed'}")
    return Exit.GOOD if all(results.values()) else Exit.PROBLEMS


def install_overrides(project: Project, checkout: Path) -> None:
    """Put `breeze-overrides/` where breeze reads its settings; git ignores that folder upstream."""
    target = checkout / CONFIG
    target.mkdir(parents=True, exist_ok=True)
    for path in sorted((project.root / "breeze-overrides" / CONFIG).iterdir()):
        shutil.copyfile(path, target / path.name)


def _run_lane(project: Project, tree: Tree, lane: Lane) -> bool:
    environment = os.environ | {"SKIP_BREEZE_SELF_UPGRADE_CHECK": "true", "ANSWER": "yes"}
    for number, command in enumerate(lane_commands(lane), 1):
        log = project.logs / f"breeze-{lane.name}-{number}.log"
        console.note(f"{lane.name}: {shlex.join(command)} (log: {log})")
        if run_logged(command, log=log, cwd=tree.git.folder, env=environment):
            return False
    return True
