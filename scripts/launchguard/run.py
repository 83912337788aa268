"""The `run` command: lanes times suites, each with its baseline, into one report."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import msgspec

from launchguard import console
from launchguard.compare import Verdict, judge
from launchguard.errors import Exit, LaunchguardError
from launchguard.pytestrun import Interrupted, Job, Options, run_job
from launchguard.results import Outcome
from launchguard.suites import Suite, invocations
from launchguard.venv import Variant

if TYPE_CHECKING:
    from collections.abc import Sequence

    from launchguard.fetch import Tree
    from launchguard.project import Project
    from launchguard.track import Lane


class Unbuilt(msgspec.Struct, frozen=True):
    """A suite that could not be run on a lane, and why."""

    lane: str
    suite: str
    reason: str


class Report(msgspec.Struct, frozen=True):
    """What a run gave, as written to `build/report/results.json`.

    `revision` is the git tree that was tested, `series` the slugs in it when the tree is exactly the series.
    """

    track: str
    revision: str
    series: tuple[str, ...]
    lanes: dict[str, dict[str, str]]
    verdicts: tuple[Verdict, ...]
    unbuilt: tuple[Unbuilt, ...] = ()
    interrupted: bool = False

    @property
    def code(self) -> Exit:
        if self.interrupted:
            return Exit.INTERRUPTED
        if any(verdict.problems for verdict in self.verdicts):
            return Exit.PROBLEMS
        told = self.verdicts and not self.unbuilt and all(verdict.can_tell for verdict in self.verdicts)
        return Exit.GOOD if told else Exit.CANNOT_TELL


@dataclass(frozen=True)
class Plan:
    """What to run."""

    tree: Tree
    revision: str
    series: tuple[str, ...]
    lanes: Sequence[Lane]
    suites: Sequence[Suite]
    baseline: bool = True


def run_plan(project: Project, plan: Plan, options: Options) -> Report:
    """Run every suite on every lane; a lane that cannot be built does not stop the others.

    Ctrl-C stops the children and gives what there is by then.
    """
    verdicts: list[Verdict] = []
    unbuilt: list[Unbuilt] = []
    interrupted = False
    try:
        for lane in plan.lanes:
            for suite in _suites_of(plan, lane):
                try:
                    verdicts.append(_run_suite(project, plan, lane, suite, options))
                    _tell(verdicts[-1])
                except LaunchguardError as error:
                    unbuilt.append(Unbuilt(lane.name, suite.name, str(error)))
                    console.warn(f"{lane.name} {suite.name} could not be run: {error}")
    except Interrupted as interrupt:
        verdicts.append(judge(plan.tree.track, interrupt.partial, None))
        interrupted = True
    except KeyboardInterrupt:
        interrupted = True
    lanes = {lane.name: {"python": lane.python, "airflow": lane.airflow} for lane in plan.lanes}
    return Report(plan.tree.track.name, plan.revision, plan.series, lanes, tuple(verdicts), tuple(unbuilt), interrupted)


def _suites_of(plan: Plan, lane: Lane) -> list[Suite]:
    """Leave out what a lane does not have, and the series' tests where no patch brings any."""
    wanted = [suite for suite in plan.suites if suite.name in lane.suites]
    return [suite for suite in wanted if invocations(suite, plan.tree, lane, plan.revision)]


def _run_suite(project: Project, plan: Plan, lane: Lane, suite: Suite, options: Options) -> Verdict:
    run = run_job(project, Job(plan.tree, lane, suite, Variant.PATCHED, plan.revision), options)
    baseline = None
    if plan.baseline and not options.last_failed:
        baseline = run_job(project, Job(plan.tree, lane, suite, Variant.UNPATCHED, plan.revision), options)
    return judge(plan.tree.track, run, baseline)


def _tell(verdict: Verdict) -> None:
    run = verdict.run
    counts = ", ".join(f"{run.count(outcome)} {outcome}" for outcome in Outcome)
    took = "cached" if run.cached else f"{run.seconds:.0f} s"
    console.note(f"{run.lane} {run.suite}: {counts} ({took})")
    for one in (run, verdict.baseline):
        if one is not None and not (one.complete and one.tests):
            console.warn(f"{one.lane} {one.suite} {one.variant} gave no whole result; its log: {one.log}")
