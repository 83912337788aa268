"""The report of a run: JSON, JUnit and an HTML page in `build/report/`, and the table in a terminal."""

from __future__ import annotations

import shutil
from typing import TYPE_CHECKING

import msgspec
from jinja2 import Environment, PackageLoader, StrictUndefined
from junitparser import Failure, JUnitXml, Skipped, TestCase, TestSuite

from launchguard.errors import LaunchguardError
from launchguard.results import Outcome
from launchguard.run import Report

if TYPE_CHECKING:
    from pathlib import Path

    from launchguard.compare import Verdict
    from launchguard.project import Project
    from launchguard.results import SuiteRun

RESULTS = "results.json"


def write_report(project: Project, report: Report) -> Path:
    """Write results.json, junit.xml and index.html.

    Returns:
        The HTML page.
    """
    folder = project.report
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RESULTS).write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1))
    _junit(report).write(str(folder / "junit.xml"), pretty=True)
    page = folder / "index.html"
    page.write_text(_html(report), encoding="utf-8")
    return page


def load_report(project: Project) -> Report:
    """Read the last report.

    Raises:
        LaunchguardError: there is none yet.
    """
    path = project.report / RESULTS
    if not path.is_file():
        raise LaunchguardError("there is no report yet; make one with `launchguard run`")
    return msgspec.json.decode(path.read_bytes(), type=Report)


def remove_report(project: Project) -> None:
    """Take the last report away, so that a run which dies cannot be mistaken for it."""
    shutil.rmtree(project.report, ignore_errors=True)


def _junit(report: Report) -> JUnitXml:
    xml = JUnitXml()
    for verdict in report.verdicts:
        xml.add_testsuite(_junit_suite(verdict.run))
    return xml


def _junit_suite(run: SuiteRun) -> TestSuite:
    suite = TestSuite(f"{run.lane}.{run.suite}")
    for test in run.tests:
        classname, _, name = test.id.rpartition("::")
        case = TestCase(name, classname, test.seconds)
        if test.outcome is Outcome.FAILED:
            case.result = [Failure(test.detail[:200] or "failed")]
            case.result[0].text = test.detail
        elif test.outcome is Outcome.SKIPPED:
            case.result = [Skipped(test.detail)]
        suite.add_testcase(case)
    return suite


def _html(report: Report) -> str:
    environment = Environment(
        loader=PackageLoader("launchguard", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    groups = [(title, [(v, _tests(v, field)) for v in report.verdicts if getattr(v, field)]) for field, title in GROUPS]
    return environment.get_template("report.html").render(
        report=report,
        verdict_word=verdict_word(report),
        rows=[row_of(report, verdict) for verdict in report.verdicts],
        groups=[(title, found) for title, found in groups if found],
    )


# What a reader has to look at, worst first: the field of a Verdict and its title.
GROUPS = (
    ("regressions", "Regressions: passed before the series, fail with it"),
    ("new_failures", "Failing tests with nothing to compare"),
    ("lost", "Lost: passed before the series, no longer run"),
    ("unlisted", "Failing with and without the series, not listed as known"),
    ("proving_nothing", "New tests that pass without the series"),
    ("known", "Known failures"),
)


def _tests(verdict: Verdict, field: str) -> list[tuple[str, str]]:
    details = {test.id: test.detail for test in verdict.run.tests}
    return [(test, details.get(test, "")) for test in getattr(verdict, field)]


class Row(msgspec.Struct, frozen=True):
    """One line of the matrix; `unpatched` sums up the baseline."""

    lane: str
    python: str
    airflow: str
    suite: str
    passed: int
    failed: int
    skipped: int
    regressions: int
    unpatched: str
    seconds: float
    state: str


def row_of(report: Report, verdict: Verdict) -> Row:
    run = verdict.run
    lane = report.lanes[run.lane]
    return Row(
        lane=run.lane,
        python=lane["python"],
        airflow=lane["airflow"],
        suite=run.suite,
        passed=run.count(Outcome.PASSED),
        failed=run.count(Outcome.FAILED),
        skipped=run.count(Outcome.SKIPPED),
        regressions=len(verdict.regressions) + len(verdict.lost),
        unpatched=_baseline_text(verdict),
        seconds=run.seconds,
        state="problems" if verdict.problems else "good" if verdict.can_tell else "cannot tell",
    )


def _baseline_text(verdict: Verdict) -> str:
    if verdict.baseline is None:
        return "not run"
    if verdict.proving or verdict.proving_nothing:
        return f"{len(verdict.proving)} of {len(verdict.run.tests) - verdict.run.count(Outcome.SKIPPED)} fail"
    return f"{verdict.baseline.count(Outcome.PASSED)} passed, {verdict.baseline.count(Outcome.FAILED)} failed"


def verdict_word(report: Report) -> str:
    words = {0: "good", 1: "problems found", 2: "cannot tell", 130: "interrupted"}
    return words[report.code]
