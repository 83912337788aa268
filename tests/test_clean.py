from __future__ import annotations

import shutil

import pytest
from factories import EXECUTOR, TRACK, Change, add_series, add_track, commit, invoke, make_tree, numbered, tree_of

from launchguard.clean import KINDS

MADE = ("trees", "venvs", "wheels", "snapshots", "results")


@pytest.fixture
def made(project):
    """A project with something of every kind."""
    make_tree(project)
    for kind in KINDS:
        (project.build / kind).mkdir(exist_ok=True)
        (project.build / kind / "thing").touch()
    (project.build / "venv").mkdir()
    (project.build / "venv/python").touch()
    return project


def kinds_left(project) -> set[str]:
    return {path.name for path in project.build.iterdir()} - {"locks"}


def contents(project) -> dict[str, bytes]:
    return {name: content for name, content in tree_of(project.build).items() if not name.startswith("locks/")}


def refusal(project, *words: str) -> str:
    before = contents(project)
    ended = invoke("clean", *words, project=project)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.count("\n") == 1
    assert contents(project) == before, "something was removed"
    return ended.err


def test_everything_but_downloads_and_the_tools_own_environment_goes(made):
    ended = invoke("clean", project=made)
    assert (ended.code, ended.out) == (0, f"removed {', '.join(KINDS)}\n")
    assert kinds_left(made) == {"cache", "venv"}
    assert made.track_folder(TRACK).exists()


def test_all_takes_the_downloads_too(made):
    assert invoke("clean", "all", project=made).code == 0
    assert kinds_left(made) == {"venv"}


@pytest.mark.parametrize("kind", [*MADE, "cache"])
def test_only_what_is_named_goes(kind, made):
    before = kinds_left(made)
    ended = invoke("clean", kind, project=made)
    assert (ended.code, ended.out) == (0, f"removed {kind}\n")
    assert kinds_left(made) == before - {kind}


def test_nothing_to_remove(project):
    shutil.rmtree(project.build)
    ended = invoke("clean", project=project)
    assert (ended.code, ended.out) == (0, "nothing to remove\n")


def test_an_unknown_kind_is_a_usage_error(made):
    ended = invoke("clean", "everything", project=made)
    assert ended.code == 1
    assert "'everything' is not one of 'trees'" in ended.err
    assert "trees" in kinds_left(made)


def test_an_applied_series_is_no_obstacle(project):
    add_series(project, Change("one", {EXECUTOR: numbered("step", _3="x = 1")}))
    assert invoke("apply", project=project).code == 0
    assert invoke("clean", project=project).code == 0


def test_commits_that_no_patch_has_are_kept(made):
    commit(make_tree(made).git, {"mine.txt": "mine\n"}, "Mine\n")
    assert "holds commits that " in refusal(made)


def test_uncommitted_work_is_kept(made):
    (made.tree(TRACK, "sdist") / "mine.txt").write_text("mine")
    assert "holds uncommitted changes; keep them with `launchguard refresh`" in refusal(made, "trees")


def test_an_unfinished_operation_is_kept(made):
    (made.tree(TRACK, "sdist") / ".git/rebase-merge").mkdir()
    assert "half done" in refusal(made)


@pytest.mark.parametrize(("words", "told"), [(("branch", "my-work"), "my-work"), (("stash", "--all"), "stash")])
def test_a_branch_of_the_users_own_is_kept(words, told, made):
    """That is where the advice about unknown work tells to put it."""
    git = make_tree(made).git
    (git.folder / "mine.txt").write_text("mine")
    git.run(*words)
    (git.folder / "mine.txt").unlink(missing_ok=True)
    assert f"holds {told}, which go with it" in refusal(made)


def test_work_on_a_track_that_is_gone_is_kept(made):
    add_track(made, "1.3.0")
    shutil.rmtree(made.track_folder(TRACK))
    assert "belongs to no track here" in refusal(made)


def test_work_does_not_keep_other_kinds(made):
    (made.tree(TRACK, "sdist") / "mine.txt").write_text("mine")
    assert invoke("clean", "venvs", "wheels", project=made).code == 0


def test_force_removes_it_all_the_same(made):
    (made.tree(TRACK, "sdist") / "mine.txt").write_text("mine")
    make_tree(made).git.run("branch", "my-work")
    assert invoke("clean", "--force", project=made).code == 0
    assert kinds_left(made) == {"cache", "venv"}


@pytest.mark.parametrize("name", ["run", "downloads", TRACK])
def test_nothing_goes_while_another_launchguard_works(name, made):
    with made.lock(name):
        assert f"another launchguard is working on {name}" in refusal(made)


def test_what_killed_commands_left_goes_without_a_question(made):
    for name in (f".{TRACK}.new", f".{TRACK}.am"):
        shutil.copytree(made.tree(TRACK, "sdist"), made.build / "trees" / name)
    half = made.build / ".trees.removed"
    half.mkdir()
    assert invoke("clean", project=made).code == 0
    assert kinds_left(made) == {"cache", "venv"}
