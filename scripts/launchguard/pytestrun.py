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
from launchguard.suites import Invocation, Suite, invocations
from launchguard.venv import Contents, Variant, Venv, lane_contents, lane_venv

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from launchguard.fetch import Tree
    from launchguard.project import Project
    from launchguard.track import Lane

TESTKIT = Path(__file__).with_name("testkit")
# Raised when what a cached result means has changed.
RESULT_FORMAT = 1
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
    database = database_template(project, venv)
    started = time.monotonic()
    tests: list[TestResult] = []
    complete = True
    for call in invocations(job.suite, job.tree, job.lane, job.revision):
        here = folder / call.part
        shutil.rmtree(here, ignore_errors=True)
        here.mkdir(parents=True)
        environment = test_environment(venv, home=here, database=database)
        command = _command(job, call, venv, here, options)
        log = here / "log.txt"
        try:
            with console.percent_progress(f"{job.name} ({call.part})") as tell:
                code = run_logged(command, log=log, cwd=source, env=environment, watch=_watch(log, tell))
        except KeyboardInterrupt as interrupt:
            tests += read_junit(here / "junit.xml")
            raise Interrupted(_finished(job, tests, started, folder, complete=False)) from interrupt
        tests += read_junit(here / "junit.xml")
        complete = complete and code in {PASSED, FAILED, NONE_COLLECTED} and (here / "junit.xml").is_file()
    return _finished(job, tests, started, folder, complete=complete)


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
    words += ["-p", "cacheprovider", "-o", f"cache_dir={cache}"]
    words += ["-n", str(options.jobs), "--dist", "loadfile"] if options.jobs > 1 else []
    words += [word for test in job.deselected() for word in ("--deselect", test)]
    words += ["-k", options.expression] if options.expression else []
    return [*words, "--last-failed"] if options.last_failed else words


def test_environment(venv: Venv, *, home: Path, database: Path) -> Mapping[str, str]:
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
        "LAUNCHGUARD_DB_TEMPLATE": str(database),
    }


def _watch(log: Path, tell: Callable[[int], None]) -> Callable[[], None]:
    def look() -> None:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 4096))
            found = _PERCENT.findall(file.read())
        if found:
            tell(int(found[-1]))

    return look
