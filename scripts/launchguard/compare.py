"""Compares a run with its baseline: what the series broke, apart from what fails without it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import msgspec

from launchguard.results import Outcome, SuiteRun
from launchguard.suites import SERIES

if TYPE_CHECKING:
    from launchguard.track import Exemption, Track

# Tests of the series that guard what must not change pass without it too, and say so in their names.
GUARD = re.compile(r"unchanged|no_?change|as_?today", re.IGNORECASE)


class Verdict(msgspec.Struct, frozen=True):
    """One suite on one lane, judged. All tuples hold test ids.

    Args:
        run: the patched run.
        baseline: the unpatched one; None when it was not asked for.
        regressions: passed before, fail now.
        lost: passed before, not passed and not failed now.
        new_failures: fail now and were not there before.
        known: fail with and without the series, listed in the track with a reason.
        unlisted: fail with and without the series, not listed.
        proving: tests of the series that fail without it, as they should.
        proving_nothing: tests of the series that pass without it and do not say that they are guards.
    """

    run: SuiteRun
    baseline: SuiteRun | None = None
    regressions: tuple[str, ...] = ()
    lost: tuple[str, ...] = ()
    new_failures: tuple[str, ...] = ()
    known: tuple[str, ...] = ()
    unlisted: tuple[str, ...] = ()
    proving: tuple[str, ...] = ()
    proving_nothing: tuple[str, ...] = ()

    @property
    def problems(self) -> bool:
        return any((self.regressions, self.lost, self.new_failures, self.unlisted, self.proving_nothing))

    @property
    def can_tell(self) -> bool:
        """Whether there is a whole run to judge, of at least one test."""
        whole = self.run.complete and (self.baseline is None or self.baseline.complete)
        return whole and bool(self.run.tests)


def judge(track: Track, run: SuiteRun, baseline: SuiteRun | None) -> Verdict:
    """Compare a patched run with the unpatched one.

    Args:
        track: for its list of known failures.
        run: the patched run.
        baseline: the same suite on the unpatched parts, or None when there is none to compare with.
    """
    notes = [note for note in track.known_failures if note.covers(run.lane, run.suite)]
    failing = run.ids(Outcome.FAILED)
    if run.suite == SERIES.name:
        return _judge_series(run, baseline, failing)
    before_passed = baseline.ids(Outcome.PASSED) if baseline else set()
    before_failed = baseline.ids(Outcome.FAILED) if baseline else set()
    listed = {test for test in failing if any(_is_listed(note, test) for note in notes)}
    also_before = failing & before_failed
    return Verdict(
        run,
        baseline,
        regressions=_sorted(failing & before_passed - listed),
        lost=_sorted(before_passed - failing - run.ids(Outcome.PASSED)) if run.complete else (),
        new_failures=_sorted(failing - before_passed - before_failed - listed),
        known=_sorted(listed),
        unlisted=_sorted(also_before - listed),
    )


def _judge_series(run: SuiteRun, baseline: SuiteRun | None, failing: set[str]) -> Verdict:
    if baseline is None:
        return Verdict(run, None, new_failures=_sorted(failing))
    ran = run.ids(Outcome.PASSED) | failing
    # A test file that cannot even be imported unpatched leaves no trace of its tests: that is failing too.
    passing_before = baseline.ids(Outcome.PASSED) & ran
    guards = {test for test in passing_before if GUARD.search(test)}
    return Verdict(
        run,
        baseline,
        new_failures=_sorted(failing),
        proving=_sorted(ran - passing_before),
        proving_nothing=_sorted(passing_before - guards),
    )


def junit_id(node: str) -> str:
    """Give the name that JUnit has for a pytest node.

    >>> junit_id("tests/unit/test_a.py::TestB::test_c")
    'tests.unit.test_a.TestB::test_c'
    """
    *scopes, name = node.split("::")
    return ".".join(scope.removesuffix(".py").replace("/", ".") for scope in scopes) + f"::{name}" if scopes else node


def _is_listed(note: Exemption, test: str) -> bool:
    listed = junit_id(note.test)
    return test == listed or test.startswith(f"{listed}[")


def _sorted(tests: set[str]) -> tuple[str, ...]:
    return tuple(sorted(tests))
