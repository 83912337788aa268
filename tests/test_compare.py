"""A run against its baseline: each kind of test ends in the one verdict that decision 4 gives it."""

from __future__ import annotations

import pytest

from launchguard.compare import judge
from launchguard.results import Outcome, SuiteRun, TestResult
from launchguard.track import Exemption, Track

PASSED, FAILED, SKIPPED = Outcome.PASSED, Outcome.FAILED, Outcome.SKIPPED


def make_run(tests: dict[str, Outcome], *, suite: str = "provider", complete: bool = True) -> SuiteRun:
    results = tuple(TestResult(name, outcome, 0.1) for name, outcome in tests.items())
    return SuiteRun("t", "head", suite, "patched", results, 1.0, complete, "log")


def make_track(*known: Exemption) -> Track:
    return Track(name="t", python=">=3.10", packages_until="2026-01-01", base_commit="", parts=(), known_failures=known)


@pytest.mark.parametrize(
    ("before", "now", "field"),
    [
        (PASSED, FAILED, "regressions"),
        (PASSED, SKIPPED, "lost"),
        (PASSED, None, "lost"),
        (None, FAILED, "new_failures"),
        (SKIPPED, FAILED, "new_failures"),
        (FAILED, FAILED, "unlisted"),
    ],
)
def test_each_change_for_the_worse_has_its_verdict(before, now, field):
    baseline = make_run({"ok": PASSED} | ({"x": before} if before else {}))
    run = make_run({"ok": PASSED} | ({"x": now} if now else {}))
    verdict = judge(make_track(), run, baseline)
    assert getattr(verdict, field) == ("x",)
    assert verdict.problems
    others = {"regressions", "lost", "new_failures", "unlisted"} - {field}
    assert not any(getattr(verdict, other) for other in others)


@pytest.mark.parametrize(("before", "now"), [(PASSED, PASSED), (FAILED, PASSED), (SKIPPED, SKIPPED), (None, PASSED)])
def test_no_change_and_changes_for_the_better_are_no_problem(before, now):
    baseline = make_run({"ok": PASSED} | ({"x": before} if before else {}))
    assert not judge(make_track(), make_run({"ok": PASSED, "x": now}), baseline).problems


def test_a_listed_failure_is_known_also_by_its_parameters_and_only_where_it_is_listed():
    note = Exemption(suite="provider", test="x", reason="because", lanes=("head",))
    run, baseline = make_run({"x[1]": FAILED}), make_run({"x[1]": FAILED})
    verdict = judge(make_track(note), run, baseline)
    assert verdict.known == ("x[1]",)
    assert not verdict.problems
    elsewhere = Exemption(suite="provider", test="x", reason="because", lanes=("compat-3.1.8",))
    assert judge(make_track(elsewhere), run, baseline).unlisted == ("x[1]",)
    assert judge(make_track(Exemption(suite="provider", test="x[", reason="r")), run, baseline).unlisted == ("x[1]",)


def test_new_tests_must_fail_without_the_series():
    run = make_run({"a": PASSED, "b": PASSED, "t::test_unchanged_c": PASSED}, suite="series")
    baseline = make_run({"a": FAILED, "b": PASSED, "t::test_unchanged_c": PASSED}, suite="series")
    verdict = judge(make_track(), run, baseline)
    assert verdict.proving == ("a",)
    assert verdict.proving_nothing == ("b",)
    assert verdict.problems


def test_a_new_test_file_that_cannot_be_imported_unpatched_proves_its_tests():
    run = make_run({"a": PASSED, "b": PASSED}, suite="series")
    verdict = judge(make_track(), run, make_run({"module": FAILED}, suite="series"))
    assert verdict.proving == ("a", "b")
    assert not verdict.problems


def test_a_failing_new_test_is_a_failure_even_when_listed():
    note = Exemption(suite="series", test="a", reason="no excuse")
    verdict = judge(make_track(note), make_run({"a": FAILED}, suite="series"), make_run({"a": FAILED}, suite="series"))
    assert verdict.new_failures == ("a",)


@pytest.mark.parametrize(
    ("run", "baseline"),
    [
        (make_run({"a": PASSED}, complete=False), make_run({"a": PASSED})),
        (make_run({"a": PASSED}), make_run({"a": PASSED}, complete=False)),
        (make_run({}), make_run({})),
    ],
)
def test_what_is_not_whole_or_empty_cannot_be_told(run, baseline):
    assert not judge(make_track(), run, baseline).can_tell


def test_without_a_baseline_failures_are_told_as_such():
    verdict = judge(make_track(), make_run({"a": FAILED, "b": PASSED}), None)
    assert verdict.new_failures == ("a",)
    assert verdict.lost == ()


def test_a_known_failure_is_written_as_pytest_writes_it():
    note = Exemption(suite="provider", test="tests/unit/test_a.py::TestB::test_c", reason="because")
    run = make_run({"tests.unit.test_a.TestB::test_c[1]": FAILED, "tests.unit.test_a.TestB::test_cc": PASSED})
    assert judge(make_track(note), run, run).known == ("tests.unit.test_a.TestB::test_c[1]",)
