"""How a run goes on, or ends, when a lane does not build or somebody presses Ctrl-C."""

from __future__ import annotations

import pytest
from factories import edit_track, make_tree

from launchguard import run as module
from launchguard.errors import Exit, cannot_tell
from launchguard.pytestrun import Interrupted, Job, Options, run_job
from launchguard.results import Outcome, SuiteRun, TestResult
from launchguard.run import Plan, run_plan
from launchguard.suites import SUITES
from launchguard.venv import Variant

TWO_LANES = """suites = ["executor"]

[[lanes]]
name = "other"
python = "3.11"
airflow = "1"
patched = ["provider"]
suites = ["executor"]"""
GOOD = (TestResult("a", Outcome.PASSED, 0.1),)


def make_run(job: Job, tests=GOOD, *, complete: bool = True) -> SuiteRun:
    return SuiteRun("t", job.lane.name, job.suite.name, job.variant, tests, 1.0, complete, "log")


@pytest.fixture
def plan(project):
    edit_track(project, 'suites = ["series"]', TWO_LANES)
    tree = make_tree(project)
    return Plan(tree, "HEAD", (), tree.track.lanes, [SUITES["executor"], SUITES["task-sdk"]])


def test_every_lane_is_run_with_its_baseline_and_only_with_its_own_suites(project, plan, monkeypatch):
    seen = []
    monkeypatch.setattr(
        module,
        "run_job",
        lambda _p, job, _o: seen.append((job.lane.name, job.suite.name, job.variant)) or make_run(job),
    )
    report = run_plan(project, plan, Options(jobs=1))
    assert report.code is Exit.GOOD
    assert seen == [(lane, "executor", variant) for lane in ("head", "other") for variant in Variant]


def test_a_lane_that_cannot_be_built_does_not_stop_the_others_and_is_no_pass(project, plan, monkeypatch):
    def run(_project, job, _options):
        if job.lane.name == "head":
            raise cannot_tell("no Python 3.10 here")
        return make_run(job)

    monkeypatch.setattr(module, "run_job", run)
    report = run_plan(project, plan, Options(jobs=1))
    assert [verdict.run.lane for verdict in report.verdicts] == ["other"]
    assert [(one.lane, one.reason) for one in report.unbuilt] == [("head", "no Python 3.10 here")]
    assert report.code is Exit.CANNOT_TELL


def test_ctrl_c_keeps_what_was_run_by_then(project, plan, monkeypatch):
    def run(_project, job, _options):
        raise Interrupted(make_run(job, complete=False))

    monkeypatch.setattr(module, "run_job", run)
    report = run_plan(project, plan, Options(jobs=1))
    assert report.code is Exit.INTERRUPTED
    assert [verdict.run.tests for verdict in report.verdicts] == [GOOD]


def test_a_lane_without_a_lock_says_how_to_make_it(project, plan):
    job = Job(plan.tree, plan.lanes[0], SUITES["executor"], Variant.PATCHED, "HEAD")
    with pytest.raises(Exception, match="lanes lock head") as caught:
        run_job(project, job, Options(jobs=1))
    assert caught.value.code is Exit.CANNOT_TELL
