"""Runs one suite in a lane's environment: pytest as a process, its JUnit file as the result."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from launchguard import console
from launchguard.database import database_template
from launchguard.process import run_logged
from launchguard.results import SuiteRun, TestResult, read_junit
from launchguard.snapshot import export_tree
from launchguard.suites import SERIES, Invocation, Suite, invocations
from launchguard.venv import Contents, Variant, Venv, lane_contents, lane_venv

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from launchguard.fetch import Tree
    from launchguard.project import Project
    from launchguard.track import Lane

TESTKIT = Path(__file__).with_name("testkit")
# Raised when what a cached result means has changed.
RESULT_FORMAT = 2
_PERCENT = re.compile(rb"\[ *(\d+)%\]")
# pytest's codes for: all passed, some failed, interrupted, no tests left after -k or --lf.
PASSED, FAILED, INTERRUPTED, NONE_COLLECTED = 0, 1, 2, 5


@dataclass(frozen=True)
class Options:
    """How tests are chosen and run; `expression` is pytest's -k."""

    jobs: int
    expression: str = ""
    last_failed: bool = False
    rerun: bool = False


@dataclass(frozen=True)
class Job:
    """One suite on one lane, patched or not.

    `revision` is the patched tree; the unpatched variant takes the tests of the base instead, but for the
    series' own tests, which only the patched tree has.
    """

    tree: Tree
    lane: Lane
    suite: Suite
    variant: Variant
    revision: str

    @property
    def tests_from(self) -> str:
        return self.revision if self.variant is Variant.PATCHED or not self.suite.paths else self.tree.base

    @property
    def name(self) -> str:
        return f"{self.lane.name} {self.suite.name} {self.variant}"

    def deselected(self) -> list[str]:
        return [note.test for note in self.tree.track.deselected if note.covers(self.lane.name, self.suite.name)]


def run_job(project: Project, job: Job, options: Options) -> SuiteRun:
    """Give the result of a job, from the cache when its inputs are unchanged.

    Raises:
        LaunchguardError: the lane's environment could not be made.
    """
    contents = lane_contents(project, job.tree, job.lane, job.variant, job.revision)
    cached = project.build / "results" / f"{_key(job, contents, options)}.json"
    if cached.is_file() and not options.rerun and not options.last_failed:
        return msgspec.structs.replace(msgspec.json.decode(cached.read_bytes(), type=SuiteRun), cached=True)
    with console.working(f"{job.name}: making the environment"):
        venv = lane_venv(project, job.tree, job.lane, job.variant, job.revision)
    run = _execute(project, job, venv, options)
    if run.complete and not options.last_failed:
        cached.parent.mkdir(parents=True, exist_ok=True)
        cached.write_bytes(msgspec.json.encode(run))
    return run


def _key(job: Job, contents: Contents, options: Options) -> str:
    calls = invocations(job.suite, job.tree, job.lane, job.revision)
    folders = [job.tree.track.part(call.part).folder for call in calls]
    inputs = {
        "format": RESULT_FORMAT,
        "contents": contents,
        "calls": [(call.part, call.paths) for call in calls],
        "tests": [job.tree.git.line("rev-parse", f"{job.tests_from}:{folder}") for folder in folders],
        "testkit": _folder_digest(TESTKIT),
        "deselected": job.deselected(),
        "database": job.lane.database,
        "expression": options.expression,
    }
    return hashlib.sha256(msgspec.json.encode(inputs)).hexdigest()[:32]


def _folder_digest(folder: Path) -> str:
    digest = hashlib.sha256()
    for path in sorted(path for path in folder.rglob("*") if path.is_file() and "__pycache__" not in path.parts):
        digest.update(f"{path.relative_to(folder)}\0".encode() + path.read_bytes())
    return digest.hexdigest()


def _execute(project: Project, job: Job, venv: Venv, options: Options) -> SuiteRun:
    folder = project.build / "runs" / job.tree.track.name / job.lane.name / f"{job.suite.name}-{job.variant}"
    source = export_tree(project, job.tree.git, job.tests_from)
    started = time.monotonic()
    tests: list[TestResult] = []
    complete = True
    with database_template(project, venv, job.lane) as database:
        for call in invocations(job.suite, job.tree, job.lane, job.revision):
            here = folder / call.part
            try:
                complete = _call_pytest(job, call, venv, options, Place(here, source, database)) and complete
            except KeyboardInterrupt as interrupt:
                tests += read_junit(here / "junit.xml")
                raise Interrupted(_finished(job, tests, started, folder, complete=False)) from interrupt
            tests += read_junit(here / "junit.xml")
    return _finished(job, tests, started, folder, complete=complete)


@dataclass(frozen=True)
class Place:
    """Where a pytest call happens: its own folder, the tree's files, the database to copy."""

    folder: Path
    source: Path
    database: str


def _call_pytest(job: Job, call: Invocation, venv: Venv, options: Options, place: Place) -> bool:
    """Run pytest once; whether it came to an end of its own and wrote its results."""
    shutil.rmtree(place.folder, ignore_errors=True)
    place.folder.mkdir(parents=True)
    log = place.folder / "log.txt"
    with console.percent_progress(f"{job.name} ({call.part})") as tell:
        code = run_logged(
            _command(job, call, venv, place.folder, options),
            log=log,
            cwd=place.source,
            env=test_environment(venv, home=place.folder, database=place.database),
            watch=_watch(log, tell),
        )
    return code in {PASSED, FAILED, NONE_COLLECTED} and (place.folder / "junit.xml").is_file()


class Interrupted(KeyboardInterrupt):
    """Ctrl-C in the middle of a suite; carries what it had run by then."""

    def __init__(self, partial: SuiteRun) -> None:
        super().__init__()
        self.partial = partial


def _finished(job: Job, tests: list[TestResult], started: float, folder: Path, *, complete: bool) -> SuiteRun:
    return SuiteRun(
        track=job.tree.track.name,
        lane=job.lane.name,
        suite=job.suite.name,
        variant=job.variant,
        tests=tuple(tests),
        seconds=round(time.monotonic() - started, 1),
        complete=complete,
        log=str(folder),
    )


def _command(job: Job, call: Invocation, venv: Venv, here: Path, options: Options) -> list[str]:
    words = [str(venv.python), "-m", "pytest", *call.paths, "-q", "-c", str(TESTKIT / "pytest.ini")]
    words += ["--rootdir=.", "--confcutdir=.", "-p", "tests_common.pytest_plugin", f"--junitxml={here / 'junit.xml'}"]
    cache = here.parent.parent / "pytest-cache" / f"{job.suite.name}-{job.variant}-{call.part}"
    words += ["-o", f"cache_dir={cache}"]
    words += ["-n", str(options.jobs), "--dist", "loadfile"] if options.jobs > 1 and not job.suite.in_order else []
    words += [word for test in job.deselected() for word in ("--deselect", test)]
    words += [f"--ignore={path}" for path in _series_tests(job)] if job.suite.paths else []
    words += ["-k", options.expression] if options.expression else []
    return [*words, "--last-failed"] if options.last_failed else words


def _series_tests(job: Job) -> list[str]:
    """List the tests that the series brings: a suite of their own, left out of those that were there before."""
    return [path for call in invocations(SERIES, job.tree, job.lane, job.revision) for path in call.paths]


def test_environment(venv: Venv, *, home: Path, database: str) -> Mapping[str, str]:
    """Give the whole environment of a test process: none of the user's settings reach it."""
    return {
        "PATH": f"{venv.folder / 'bin'}:{os.environ.get('PATH', os.defpath)}",
        "HOME": str(home),
        "TMPDIR": os.environ.get("TMPDIR", "/tmp"),  # noqa: S108  the platform's own default
        "LANG": "C.UTF-8",
        "TZ": "UTC",
        "PYTHONPATH": str(TESTKIT),
        "PYTHONUNBUFFERED": "1",
        "AIRFLOW_HOME": str(home / "airflow"),
        "LAUNCHGUARD_DB_TEMPLATE": database,
    }


def _watch(log: Path, tell: Callable[[int], None]) -> Callable[[], None]:
    def look() -> None:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 4096))
            found = _PERCENT.findall(file.read())
        if found:
            tell(int(found[-1]))

    return look
