"""What test runs give: plain data, read from JUnit XML and kept as JSON."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec
from junitparser import Error, Failure, JUnitXml, Skipped, TestCase, TestSuite

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Outcome(StrEnum):
    """How one test ended; an error in its set-up counts as failed."""

    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"


class TestResult(msgspec.Struct, frozen=True):
    """One test; `detail` is the failure's text or the reason of the skip."""

    __test__ = False

    id: str
    outcome: Outcome
    seconds: float
    detail: str = ""


class SuiteRun(msgspec.Struct, frozen=True):
    """One suite on one lane, patched or not.

    `complete` is false when it was interrupted or ended without a result; `seconds` is wall-clock time.
    """

    track: str
    lane: str
    suite: str
    variant: str
    tests: tuple[TestResult, ...]
    seconds: float
    complete: bool
    log: str
    cached: bool = False

    def count(self, outcome: Outcome) -> int:
        return sum(test.outcome is outcome for test in self.tests)

    def ids(self, outcome: Outcome) -> set[str]:
        return {test.id for test in self.tests if test.outcome is outcome}


def read_junit(path: Path) -> list[TestResult]:
    """Read the tests of a JUnit file; none when pytest was killed before it wrote one."""
    if not path.is_file() or not path.stat().st_size:
        return []
    xml = JUnitXml.fromfile(str(path))
    suites = [xml] if isinstance(xml, TestSuite) else list(xml)
    merged: dict[str, TestResult] = {}
    for case in (case for suite in suites for case in suite):
        found = _result(case)
        known = merged.get(found.id)  # a failing teardown comes as a second record of the same test
        merged[found.id] = known if known and known.outcome is Outcome.FAILED else found
    return list(merged.values())


def _result(case: TestCase) -> TestResult:
    outcome, details = Outcome.PASSED, []
    for entry in case.result:
        if isinstance(entry, Failure | Error):
            outcome = Outcome.FAILED
            details.append(entry.text or entry.message or "")
        elif isinstance(entry, Skipped):
            outcome = Outcome.SKIPPED
            details.append(entry.message or "")
    return TestResult(f"{case.classname}::{case.name}", outcome, float(case.time or 0), "\n".join(details).strip())


def failures(run: SuiteRun) -> Iterator[TestResult]:
    return (test for test in run.tests if test.outcome is Outcome.FAILED)
