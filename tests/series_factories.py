"""What the tests of the patch side share on top of `factories`: a series of three, and ways to look at trees."""

from __future__ import annotations

import atexit
import functools
import json
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from factories import (
    EXECUTOR,
    SCHEDULER,
    SOURCES,
    TRACK,
    Change,
    add_series,
    add_track,
    commit,
    make_project,
    make_tree,
    numbered,
    version_of,
)

from launchguard.apply import apply
from launchguard.check import check
from launchguard.export import export
from launchguard.gitcmd import Git, init_repository
from launchguard.project import Project
from launchguard.track import PART_FOLDERS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from launchguard.fetch import Tree

LICENCE = "# Licensed to the Apache Software Foundation (ASF) under one\n"
NEW = "airflow-core/src/airflow/jobs/launch.py"
ONE = Change("one", {SCHEDULER: numbered("line", _3='line_3 = "one"')})
TWO = Change("two", {EXECUTOR: numbered("step", _5='step_5 = "two"')})
THREE = Change(
    "three",
    {SCHEDULER: numbered("line", _3='line_3 = "one"', _30='line_30 = "three"'), NEW: f"{LICENCE}launch = 3\n"},
)
SLUGS = ("one", "two", "three")


def add_three(project: Project, *, track: str = TRACK) -> Path:
    """Give a track without patches the series one, two, three (three stands on one); gives its folder."""
    for name, content in series_bytes(_template() / "patches" / TRACK).items():
        (project.track_folder(track) / name).write_bytes(content)
    return project.track_folder(track)


def change_base(project: Project, **changed: Mapping[str, str | bytes | None]) -> None:
    """Give the default track other sources under its series, by part (`_` for `-`; None removes a file)."""
    new = {part: {**files, **changed.get(part.replace("-", "_"), {})} for part, files in SOURCES.items()}
    kept = series_bytes(project.track_folder(TRACK))
    add_track(project, TRACK, sources={part: _without_none(files) for part, files in new.items()})
    for name, content in kept.items():
        (project.track_folder(TRACK) / name).write_bytes(content)


def _without_none(files: Mapping[str, str | bytes | None]) -> dict[str, str | bytes]:
    return {name: content for name, content in files.items() if content is not None}


@functools.cache
def _template() -> Path:
    """Make the project with the series of three and its applied tree once for each test process."""
    folder = Path(tempfile.mkdtemp(prefix="launchguard-template-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made = make_project(folder)
    add_series(made, ONE, TWO, THREE)
    applied_tree(made)
    return made.root


def three_project(root: Path) -> Project:
    """Give a project of its own like `make_project`'s, with the series of three and its tree, applied."""
    shutil.copytree(_template(), root / "project")
    return Project(root / "project")


def applied_tree(project: Project, *, until: str | None = None) -> Tree:
    """Give the default track's tree with its series applied."""
    tree = make_tree(project)
    applied = apply(project, tree, until=until)
    assert not applied.failed, applied.trials
    return tree


def series_bytes(folder: Path) -> dict[str, bytes]:
    """Give the series file and the patches of a track's folder, by name; what else lies there shows up too."""
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file() and path.name != "track.toml"}


def exported(tree: Tree, head: str = "HEAD") -> dict[str, bytes]:
    return export(tree.git, tree.base, head)


def files_at(git: Git, revision: str = "HEAD") -> dict[str, str]:
    """Map each path of a revision to its mode and blob id."""
    lines = git.run("ls-tree", "-r", "-z", revision).text.split("\0")
    return {line.partition("\t")[2]: line.partition("\t")[0] for line in lines if line}


def work_files(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file() and ".git" not in path.relative_to(folder).parts
    }


def everything(git: Git) -> tuple[str, str, dict[str, bytes], str]:
    """Give all of a tree that a command which changes nothing must leave alone."""
    refs = git.run("for-each-ref", "--format=%(refname) %(objectname)").text
    return git.line("rev-parse", "HEAD"), refs, work_files(git.folder), git.run("ls-files", "--stage").text


def subjects(tree: Tree, head: str = "HEAD") -> list[str]:
    """Give the subjects above the base, oldest first."""
    return tree.git.run("log", "--reverse", "--format=%s", f"{tree.base}..{head}").text.splitlines()


def with_message(slug: str, body: str, subject: str = "Make it hold", **trailers: str) -> str:
    """Give a commit message with a body and subject of one's own above the usual trailers."""
    from factories import message_for  # noqa: PLC0415  one name of many

    last = message_for(slug, **trailers).rpartition("\n\n")[2]
    return f"{subject}\n\n{body}\n\n{last}"


def edit_patch(path: Path, old: str, new: str) -> None:
    """Replace text in a patch file; fails when it is not there."""
    text = path.read_bytes()
    assert old.encode() in text, f"{old!r} is not in {path}"
    path.write_bytes(text.replace(old.encode(), new.encode()))


def check_faults(project: Project) -> dict[str, list[str]]:
    """Check a series; gives the faults by the check's name."""
    return {one.name: list(one.faults) for one in check(project, make_tree(project))}


def check_failing(project: Project) -> dict[str, list[str]]:
    return {name: found for name, found in check_faults(project).items() if found}


def check_untold(project: Project) -> dict[str, str]:
    """Check a series; gives why a check could not tell, by its name."""
    return {one.name: one.untold for one in check(project, make_tree(project)) if one.untold}


def outcomes(trials) -> dict[tuple[str, str], str]:
    """Map slug and path to the outcome's value."""
    return {(trial.slug, file.path): str(file.outcome) for trial in trials for file in trial.files}


def child(code: str, *arguments: str | Path) -> str:
    """Run Python code in a process of its own, which may be killed; gives what it printed."""
    ended = subprocess.run(
        (sys.executable, "-c", code, *map(str, arguments)), capture_output=True, check=False, text=True, timeout=60
    )
    assert ended.returncode in {0, -9}, ended.stderr
    return ended.stdout


def child_json(code: str, *arguments: str | Path):
    return json.loads(child(code, *arguments))


NEXT = "1.3.0"


def add_next(project: Project, **changed: Mapping[str, str | bytes | None]) -> Tree:
    """Add the track `NEXT`, whose sources differ from the default one's as in `change_base`; gives its tree."""
    sources = {
        part: _without_none({**files, **changed.get(part.replace("-", "_"), {})}) for part, files in SOURCES.items()
    }
    add_track(project, NEXT, sources=sources)
    return make_tree(project, NEXT)


def in_core(**lines: str) -> dict[str, str]:
    return {SCHEDULER.removeprefix("airflow-core/"): numbered("line", **lines)}


def in_provider(**lines: str) -> dict[str, str]:
    return {EXECUTOR.removeprefix("providers/cncf/kubernetes/"): numbered("step", **lines)}


def make_upstream(folder: Path, *changes: tuple[str, Mapping[str, str | bytes | None]]) -> str:
    """Make a stand-in for Airflow's git: the default track's sources tagged for it, then commits, tagged for `NEXT`.

    Args:
        folder: where.
        changes: subject and files of each commit between the two.

    Returns:
        Its URL.
    """
    git = init_repository(folder)
    files = {
        name if part == "root" else f"{PART_FOLDERS[part]}/{name}": content
        for part, inner in SOURCES.items()
        for name, content in inner.items()
        if name != "PKG-INFO"
    }
    _commit_and_tag(git, files | {".gitignore": "/files\n"}, "Release", TRACK)
    for subject, changed in changes:
        commit(git, changed, f"{subject}\n")
    _commit_and_tag(git, {"README.md": "The next Airflow\n"}, "Release again", NEXT)
    git.run("config", "uploadpack.allowFilter", "true")
    git.run("config", "uploadpack.allowAnySHA1InWant", "true")
    return folder.as_uri()


def _commit_and_tag(git: Git, files: Mapping[str, str | bytes | None], subject: str, track: str) -> None:
    commit(git, files, f"{subject}\n")
    for tag in (
        track,
        f"task-sdk/{version_of('task-sdk', track)}",
        f"providers-cncf-kubernetes/{version_of('provider', track)}",
    ):
        git.run("tag", tag)
