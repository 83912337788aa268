"""The report: exit codes, the files, and what a reader of the page finds in it."""

from __future__ import annotations

import msgspec
import pytest
from junitparser import JUnitXml

from launchguard.compare import Verdict, judge
from launchguard.errors import Exit, LaunchguardError
from launchguard.project import Project
from launchguard.report import load_report, remove_report, row_of, write_report
from launchguard.results import Outcome, SuiteRun, TestResult
from launchguard.run import Report, Unbuilt
from launchguard.track import Track
from launchguard.views import show_report

TRACK = Track(name="t", python=">=3.10", packages_until="2026-01-01", base_commit="", parts=())


def make_run(*tests: TestResult, complete: bool = True, suite: str = "provider") -> SuiteRun:
    return SuiteRun("t", "head", suite, "patched", tests, 12.3, complete, "build/runs/x")


def make_report(*verdicts: Verdict, **more: object) -> Report:
    lanes = {"head": {"python": "3.10", "airflow": "3.3.0"}}
    return Report("t", "f" * 40, ("one-patch",), lanes, verdicts, **more)  # type: ignore[arg-type]


GOOD = TestResult("tests.test_a.TestA::test_good", Outcome.PASSED, 0.5)
BAD = TestResult("tests.test_a::test_bad", Outcome.FAILED, 0.5, "assert <1> == 2 & more")
NOT_HERE = TestResult("tests.test_a::test_not_here", Outcome.SKIPPED, 0.0, "Airflow 3 only")


@pytest.mark.parametrize(
    ("report", "code"),
    [
        (make_report(judge(TRACK, make_run(GOOD), make_run(GOOD))), Exit.GOOD),
        (make_report(judge(TRACK, make_run(BAD), None)), Exit.PROBLEMS),
        (make_report(judge(TRACK, make_run(GOOD, complete=False), None)), Exit.CANNOT_TELL),
        (make_report(judge(TRACK, make_run(), None)), Exit.CANNOT_TELL),
        (make_report(), Exit.CANNOT_TELL),
        (make_report(judge(TRACK, make_run(GOOD), None), unbuilt=(Unbuilt("x", "s", "why"),)), Exit.CANNOT_TELL),
        (make_report(judge(TRACK, make_run(BAD), None), unbuilt=(Unbuilt("x", "s", "why"),)), Exit.PROBLEMS),
        (make_report(judge(TRACK, make_run(GOOD), None), interrupted=True), Exit.INTERRUPTED),
    ],
)
def test_the_exit_code_says_what_was_found(report, code):
    assert report.code is code


def test_a_report_is_written_in_three_forms_and_read_back(tmp_path):
    project = Project(tmp_path)
    report = make_report(judge(TRACK, make_run(GOOD, BAD, NOT_HERE), make_run(GOOD, NOT_HERE)))
    page = write_report(project, report)
    assert load_report(project) == report
    suite = next(iter(JUnitXml.fromfile(str(project.report / "junit.xml"))))
    assert (suite.name, suite.tests, suite.failures, suite.skipped) == ("head.provider", 3, 1, 1)
    html = page.read_text()
    assert "tests.test_a::test_bad" in html
    assert "assert &lt;1&gt; == 2 &amp; more" in html
    assert "problems found" in html
    assert "http://" not in html
    assert "https://" not in html


def test_no_report_says_how_to_make_one(tmp_path):
    with pytest.raises(LaunchguardError, match="launchguard run"):
        load_report(Project(tmp_path))


def test_a_removed_report_is_gone(tmp_path):
    project = Project(tmp_path)
    write_report(project, make_report())
    remove_report(project)
    assert not project.report.exists()
    remove_report(project)


def test_a_row_counts_what_the_run_held():
    report = make_report(
        judge(
            TRACK, make_run(GOOD, BAD, NOT_HERE), make_run(GOOD, msgspec.structs.replace(BAD, outcome=Outcome.PASSED))
        )
    )
    row = row_of(report, report.verdicts[0])
    assert (row.lane, row.python, row.airflow, row.suite) == ("head", "3.10", "3.3.0", "provider")
    assert (row.passed, row.failed, row.skipped, row.regressions) == (1, 1, 1, 1)
    assert row.unpatched == "2 passed, 0 failed"
    assert row.state == "problems"


def test_a_series_row_says_how_many_tests_fail_without_it():
    failing = msgspec.structs.replace(GOOD, outcome=Outcome.FAILED)
    report = make_report(judge(TRACK, make_run(GOOD, suite="series"), make_run(failing, suite="series")))
    assert row_of(report, report.verdicts[0]).unpatched == "1 of 1 fail"


def test_text_and_json_name_the_regression(tmp_path, capfd):
    passed = msgspec.structs.replace(BAD, outcome=Outcome.PASSED)
    report = make_report(judge(TRACK, make_run(BAD), make_run(passed)))
    assert show_report(report, tmp_path / "index.html", as_json=False) == Exit.PROBLEMS
    assert "Regressions: head provider: tests.test_a::test_bad" in capfd.readouterr().out
    assert show_report(report, tmp_path / "index.html", as_json=True) == Exit.PROBLEMS
    shown = msgspec.json.decode(capfd.readouterr().out)
    assert shown["code"] == 1
    assert shown["rows"][0]["regressions"] == 1
