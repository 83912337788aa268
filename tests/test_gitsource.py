from __future__ import annotations

import json
import os
import shutil
import signal
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from factories import (
    DEADLY_GIT,
    EXECUTOR,
    SCHEDULER,
    SOURCES,
    TRACK,
    Change,
    Ended,
    add_series,
    add_track,
    commit,
    edit_track,
    invoke,
    launchguard,
    make_project,
    numbered,
    umask,
    version_of,
)

from launchguard.fetch import Tree, fetch
from launchguard.gitcmd import Git, init_repository
from launchguard.gitsource import Preimage, compare_preimages
from launchguard.track import PART_FOLDERS, load_track

if TYPE_CHECKING:
    from collections.abc import Mapping

    from launchguard.project import Project

PROVIDER_FOLDER = PART_FOLDERS["provider"]
MONOREPO = {
    name if part == "root" else f"{PART_FOLDERS[part]}/{name}": content
    for part, files in SOURCES.items()
    for name, content in files.items()
    if name != "PKG-INFO"
} | {"airflow-core/tests/test_scheduler.py": "def test_scheduler(): pass\n"}
# What the core tag's tree holds of the provider: older than what was released beside it.
OLDER = {EXECUTOR: numbered("step", _7="old = 7"), f"{PROVIDER_FOLDER}/dropped.py": "gone = 1\n"}
RELEASED = {EXECUTOR: numbered("step"), f"{PROVIDER_FOLDER}/dropped.py": None}
TAGS = {
    "core": TRACK,
    "task-sdk": f"task-sdk/{version_of('task-sdk', TRACK)}",
    "provider": f"providers-cncf-kubernetes/{version_of('provider', TRACK)}",
}


@dataclass(frozen=True)
class Upstream:
    """A bare repository that stands in for Airflow's; `commits` by part."""

    url: str
    git: Git
    commits: Mapping[str, str]

    def tag(self, part: str, revision: str) -> None:
        self.git.run("tag", "--force", TAGS[part], revision)


def make_upstream(root: Path, *, changed: bool, more: Mapping[str, str | None] | None = None) -> Upstream:
    """Make a repository with the tags of the default track.

    Args:
        root: where.
        changed: whether the provider was released from a later commit, with another content.
        more: what the core's commit holds beyond the monorepo's files (None: lacks).
    """
    work = init_repository(root / "work")
    commit(work, {"history.txt": "old\n" * 100}, "Begin\n")
    commits = dict.fromkeys(TAGS, commit(work, MONOREPO | (OLDER if changed else {}) | {"history.txt": None}, "Core\n"))
    if more:
        commits = dict.fromkeys(TAGS, commit(work, more, "More\n"))
    if changed:
        commits["provider"] = commit(work, RELEASED, "Provider\n")
    bare = root / "airflow.git"
    work.run("clone", "--quiet", "--bare", ".", bare)
    upstream = Upstream(str(bare), Git(bare), commits)
    for name in ("uploadpack.allowFilter", "uploadpack.allowAnySHA1InWant"):
        upstream.git.run("config", name, "true")
    for part in TAGS:
        upstream.tag(part, commits[part])
    return upstream


def pinned_project(root: Path, upstream: Upstream) -> Project:
    """Make a project whose track pins the upstream's commits."""
    project = make_project(root)
    add_track(project, TRACK, commits=upstream.commits)
    return project


def git_fetch(project: Project, upstream: Upstream, *more: str) -> Ended:
    return invoke("fetch", "--source", "git", "--url", upstream.url, *more, project=project)


def git_tree(project: Project, upstream: Upstream) -> Tree:
    return fetch(project, load_track(project, TRACK), source="git", url=upstream.url)


@pytest.fixture
def same(tmp_path: Path) -> Upstream:
    """An upstream whose core tag holds the released provider."""
    return make_upstream(tmp_path, changed=False)


@pytest.fixture
def other(tmp_path: Path) -> Upstream:
    """An upstream whose core tag holds another provider than the released one."""
    return make_upstream(tmp_path, changed=True)


def refusal(ended: Ended, project: Project) -> str:
    assert (ended.code, ended.out) == (1, "")
    assert not project.tree(TRACK, "git").exists()
    error = ended.err.splitlines()[-1]
    assert error.startswith("error: ")
    return error


def test_the_base_is_the_cores_own_commit_when_nothing_differs(same, tmp_path):
    project = pinned_project(tmp_path, same)
    ended = git_fetch(project, same)
    folder = project.tree(TRACK, "git")
    assert (ended.code, ended.out) == (0, f"{folder} at base {same.commits['core'][:12]}\n")
    tree = git_tree(project, same)
    assert tree.base == tree.git.resolve("HEAD") == same.commits["core"]
    assert (folder / "airflow-core/tests/test_scheduler.py").exists()
    assert (tree.git.line("symbolic-ref", "HEAD"), tree.git.changes()) == ("refs/heads/launchguard", [])


def test_a_provider_that_differs_is_laid_over_from_its_tag(other, tmp_path):
    tree = git_tree(pinned_project(tmp_path, other), other)
    assert tree.git.resolve(f"{tree.base}^") == other.commits["core"]
    assert tree.git.blob(tree.base, PROVIDER_FOLDER) == tree.git.blob(other.commits["provider"], PROVIDER_FOLDER)
    assert (tree.git.folder / EXECUTOR).read_text() == numbered("step")
    changed = tree.git.run("diff", "--name-only", f"{tree.base}^", tree.base).text.splitlines()
    assert changed == [f"{PROVIDER_FOLDER}/dropped.py", EXECUTOR]
    assert tree.git.line("log", "-1", "--format=%s", tree.base) == (
        f"Lay over {PROVIDER_FOLDER} from tag {TAGS['provider']}"
    )


def test_the_laid_over_base_is_the_same_everywhere(other, tmp_path, monkeypatch):
    first = git_tree(pinned_project(tmp_path / "one", other), other).base
    home = Path(os.environ["HOME"])
    (home / ".gitconfig").write_text("[user]\nname = Somebody\n[core]\nautocrlf = true\n[fetch]\nprune = true\n")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2001-01-01T00:00:00+05:00")
    with umask(0o077):
        assert git_tree(pinned_project(tmp_path / "two", other), other).base == first


def test_annotated_tags_do(other, tmp_path):
    for part, revision in other.commits.items():
        other.git.run("tag", "--force", "--annotate", "--message", "Release", TAGS[part], revision)
    tree = git_tree(pinned_project(tmp_path, other), other)
    assert tree.git.resolve(f"{tree.base}^") == other.commits["core"]


@pytest.mark.parametrize("filters", ["true", "false"])
def test_old_blobs_are_left_behind_where_the_server_can(filters, same, tmp_path):
    same.git.run("config", "uploadpack.allowFilter", filters)
    old = same.git.blob(f"{same.commits['core']}^", "history.txt")
    tree = git_tree(pinned_project(tmp_path, same), same)
    held = tree.git.run("cat-file", "--batch-check=%(objectname)", "--batch-all-objects").text.split()
    assert (old not in held) == (filters == "true")


def test_a_moved_tag_is_refused(other, tmp_path):
    project = pinned_project(tmp_path, other)
    other.tag("provider", other.commits["core"])
    assert refusal(git_fetch(project, other), project) == (
        f"error: tag {TAGS['provider']} is commit {other.commits['core']}, the pin says "
        f"{other.commits['provider']}; was the tag moved?"
    )


def test_a_missing_tag_is_named(other, tmp_path):
    project = pinned_project(tmp_path, other)
    other.git.run("tag", "--delete", TAGS["task-sdk"])
    told = refusal(git_fetch(project, other), project)
    assert TAGS["task-sdk"] in told
    assert other.url in told
    assert told.endswith("; name another with --url")


def test_a_tag_without_a_pinned_commit_is_said_to_be_unchecked(same, tmp_path):
    project = pinned_project(tmp_path, same)
    add_track(project, TRACK, commits={"core": same.commits["core"]})
    ended = git_fetch(project, same)
    assert ended.code == 0
    assert ended.err.splitlines() == [
        f"tag {TAGS[part]} is commit {same.commits[part]}; track.toml pins none, so it was not compared"
        for part in ("task-sdk", "provider")
    ]


def test_a_repository_that_cannot_be_reached_is_one_line_without_its_password(project):
    ended = invoke("fetch", "--source", "git", "--url", "http://me:secret@127.0.0.1:1/a.git", project=project)
    assert "from http://127.0.0.1:1/a.git: fatal: " in refusal(ended, project)
    assert ended.err.count("\n") == 1
    assert "secret" not in ended.err


def test_a_tree_that_is_there_works_offline(other, tmp_path):
    project = pinned_project(tmp_path, other)
    base = git_tree(project, other).base
    shutil.rmtree(other.url)
    assert git_tree(project, other).base == base
    assert git_fetch(project, other).code == 0


@pytest.mark.parametrize("word", ["fetch", "update-ref", "checkout"])
def test_after_kill_9_the_next_run_makes_the_tree(word, other, tmp_path):
    project = pinned_project(tmp_path, other)
    wrapper = tmp_path / "bin/git"
    wrapper.parent.mkdir()
    wrapper.write_text(DEADLY_GIT.format(git=shutil.which("git"), word=word))
    wrapper.chmod(0o755)
    path = f"{wrapper.parent}{os.pathsep}{os.environ['PATH']}"
    ended = launchguard("fetch", "--source", "git", "--url", other.url, project=project, PATH=path)
    assert ended.code == -signal.SIGKILL
    assert not project.tree(TRACK, "git").exists()
    assert git_fetch(project, other).code == 0
    assert git_tree(project, other).git.changes() == []


def test_a_changed_pin_brings_the_new_base_and_keeps_work(other, tmp_path):
    project = pinned_project(tmp_path, other)
    tree = git_tree(project, other)
    old = tree.base
    mine = commit(tree.git, {"mine.txt": "mine\n"}, "Mine\n")
    other.tag("provider", other.commits["core"])
    edit_track(project, other.commits["provider"], other.commits["core"])
    assert git_fetch(project, other).code == 0
    assert tree.base == other.commits["core"] != old
    assert tree.git.resolve("HEAD") == mine


def test_a_pin_that_was_wrong_when_it_changed_leaves_the_base(other, tmp_path):
    project = pinned_project(tmp_path, other)
    tree = git_tree(project, other)
    old = tree.base
    edit_track(project, other.commits["provider"], "0" * 40)
    ended = git_fetch(project, other)
    assert (ended.code, tree.base) == (1, old)
    assert "was the tag moved?" in ended.err


def test_a_series_applies_to_both_kinds_of_tree(other, tmp_path):
    project = pinned_project(tmp_path, other)
    add_series(project, Change("one", {EXECUTOR: numbered("step", _3="x = 1")}))
    assert invoke("apply", project=project).code == 0
    assert invoke("apply", "--source", "git", "--url", other.url, project=project).code == 0
    assert (project.tree(TRACK, "git") / EXECUTOR).read_text() == numbered("step", _3="x = 1")


# --- pre-images

CHANGES = (
    Change("one", {EXECUTOR: numbered("step", _3="x = 1"), "brand/new.py": "new = 1\n"}),
    Change("two", {SCHEDULER: numbered("line", _3="x = 1"), "README.md": "Airflow!\n"}),
)


def test_the_same_preimages_are_good(same, tmp_path):
    project = pinned_project(tmp_path, same)
    add_series(project, *CHANGES)
    ended = git_fetch(project, same)
    assert ended.code == 0
    assert ended.out.splitlines()[0] == "the 4 files that the series touches are the same in git and in the sdists"


def test_differing_preimages_are_named_with_exit_code_1(tmp_path):
    upstream = make_upstream(
        tmp_path,
        changed=False,
        more={SCHEDULER: numbered("line", _30="y = 2"), "README.md": None, "brand/new.py": "taken = 1\n"},
    )
    project = pinned_project(tmp_path, upstream)
    add_series(project, *CHANGES)
    ended = git_fetch(project, upstream)
    folder = project.tree(TRACK, "git")
    assert ended.code == 1
    assert ended.out.splitlines() == [
        "README.md: only in the sdist",
        f"{SCHEDULER}: differs",
        "brand/new.py: only in git",
        f"{folder} at base {upstream.commits['core'][:12]}",
    ]
    ended = git_fetch(project, upstream, "--json")
    assert ended.code == 1
    assert json.loads(ended.out) == {
        "folder": str(folder),
        "base": upstream.commits["core"],
        "source": "git",
        "preimages": [
            {"path": "README.md", "outcome": "only in the sdist"},
            {"path": SCHEDULER, "outcome": "differs"},
            {"path": "brand/new.py", "outcome": "only in git"},
            {"path": EXECUTOR, "outcome": "equal"},
        ],
    }


def test_files_that_the_series_does_not_touch_may_differ(tmp_path):
    upstream = make_upstream(tmp_path, changed=False, more={"README.md": "Other\n"})
    project = pinned_project(tmp_path, upstream)
    add_series(project, CHANGES[0])
    assert git_fetch(project, upstream).code == 0


def test_each_path_is_compared_once(same, tmp_path):
    project = pinned_project(tmp_path, same)
    git = git_tree(project, same).git
    sdists = fetch(project, load_track(project, TRACK)).git
    found = compare_preimages(sdists, git, [SCHEDULER, "none", SCHEDULER])
    assert [(one.path, one.outcome) for one in found] == [(SCHEDULER, Preimage.EQUAL), ("none", Preimage.EQUAL)]
