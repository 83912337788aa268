from __future__ import annotations

import pytest
from factories import EXECUTOR, SCHEDULER, Change, add_series, commit, make_tree, message_for, numbered
from series_factories import (
    ONE,
    SLUGS,
    add_three,
    applied_tree,
    change_base,
    edit_patch,
    everything,
    exported,
    files_at,
    outcomes,
    subjects,
    work_files,
)

from launchguard import apply as apply_module
from launchguard.apply import apply, scratch_worktree
from launchguard.errors import LaunchguardError
from launchguard.treestate import load_state


def test_one_commit_a_patch_on_the_branch(project):
    add_three(project)
    tree = make_tree(project)
    applied = apply(project, tree)
    git = tree.git
    assert subjects(tree) == ["Make one hold", "Make two hold", "Make three hold"]
    assert git.line("symbolic-ref", "HEAD") == "refs/heads/launchguard"
    assert (applied.head, applied.slugs, applied.unchanged) == (git.resolve("HEAD"), SLUGS, False)
    assert (applied.track, applied.tree) == ("1.2.0", str(git.folder))
    assert outcomes(applied.trials)["three", SCHEDULER] == "clean"
    assert git.changes() == []
    assert work_files(git.folder)[SCHEDULER].decode() == numbered("line", _3='line_3 = "one"', _30='line_30 = "three"')


def test_the_commits_are_the_same_on_every_machine(project, tmp_path, monkeypatch):
    from factories import make_project  # noqa: PLC0415

    add_three(project)
    head = apply(project, make_tree(project)).head
    monkeypatch.setenv("GIT_COMMITTER_DATE", "2030-01-01T00:00:00+09:00")
    monkeypatch.setenv("GIT_COMMITTER_NAME", "Somebody Else")
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    monkeypatch.setenv("LC_ALL", "C.UTF-8")
    other = make_project(tmp_path / "other")
    add_three(other)
    assert apply(other, make_tree(other)).head == head


def test_a_second_call_changes_nothing_and_tries_nothing(three, monkeypatch):
    tree = applied_tree(three)
    before = everything(tree.git)
    monkeypatch.delattr(apply_module, "try_series")
    monkeypatch.delattr(apply_module, "commit_series")
    monkeypatch.delattr(apply_module, "move_branch")
    again = apply(three, tree)
    assert (again.unchanged, again.failed, again.slugs) == (True, False, SLUGS)
    assert again.head == before[0]
    assert everything(tree.git) == before


def test_an_empty_series_is_the_base(project):
    tree = make_tree(project)
    applied = apply(project, tree)
    assert (applied.head, applied.slugs, applied.failed) == (tree.base, (), False)
    assert apply(project, tree).unchanged


@pytest.mark.parametrize("how", ["content", "order", "removed"])
def test_a_changed_series_is_applied_anew(three, how):
    folder = three.track_folder("1.2.0")
    tree = applied_tree(three)
    if how == "content":
        edit_patch(folder / "two.patch", '+step_5 = "two"', '+step_5 = "new"')
    else:
        (folder / "series").write_text({"order": "two\none\nthree\n", "removed": "one\n"}[how])
    applied = apply(three, tree)
    assert not applied.unchanged
    assert len(subjects(tree)) == len(applied.slugs) == {"content": 3, "order": 3, "removed": 1}[how]
    text = {"content": "new", "order": "two", "removed": None}[how]
    wanted = numbered("step", _5=f'step_5 = "{text}"') if text else numbered("step")
    assert work_files(tree.git.folder)[EXECUTOR].decode() == wanted
    assert tree.git.changes() == []


class TestUntil:
    def test_stops_there_and_goes_on_from_there(self, project):
        add_three(project)
        tree = make_tree(project)
        assert apply(project, tree, until="two").slugs == ("one", "two")
        assert subjects(tree) == ["Make one hold", "Make two hold"]
        assert apply(project, tree, until="two").unchanged
        assert apply(project, tree).slugs == SLUGS
        assert apply(project, tree, until="one").slugs == ("one",)
        assert work_files(tree.git.folder)[EXECUTOR].decode() == numbered("step")

    def test_a_patch_behind_it_may_be_broken(self, project):
        folder = add_three(project)
        (folder / "three.patch").write_bytes(b"")
        assert not apply(project, make_tree(project), until="two").failed

    def test_an_unknown_patch_is_refused_with_the_known_ones(self, project):
        add_three(project)
        with pytest.raises(LaunchguardError, match="has no patch 'four'; it has: one, two, three"):
            apply(project, make_tree(project), until="four")


class TestFailure:
    def test_changes_nothing_and_names_everything(self, three):
        folder = three.track_folder("1.2.0")
        tree = applied_tree(three)
        before, state = everything(tree.git), load_state(tree.git)
        edit_patch(folder / "one.patch", " line_1 = 1\n", " line_0 = 0\n")
        edit_patch(folder / "two.patch", " step_4 = 4\n", " step_0 = 0\n")
        applied = apply(three, tree)
        assert applied.failed
        assert (applied.head, applied.slugs) == ("", ())
        assert [trial.slug for trial in applied.trials if not trial.applies] == ["one", "two"]
        assert everything(tree.git) == before
        assert load_state(tree.git) == state

    def test_a_series_that_has_gone_upstream(self, project):
        add_series(project, ONE)
        change_base(project, core={"src/airflow/jobs/scheduler.py": ONE.files[SCHEDULER]})
        applied = apply(project, make_tree(project))
        assert outcomes(applied.trials) == {("one", SCHEDULER): "already applied"}
        assert applied.failed

    def test_a_listed_patch_that_is_missing(self, three):
        folder = three.track_folder("1.2.0")
        tree = applied_tree(three)
        before = everything(tree.git)
        (folder / "two.patch").unlink()
        with pytest.raises(LaunchguardError, match=r"names two, but there is no two\.patch in "):
            apply(three, tree)
        assert everything(tree.git) == before


def test_offsets_go_in_and_are_told(project):
    add_series(project, Change("one", {SCHEDULER: numbered("line", _30="x = 1")}))
    change_base(project, core={"src/airflow/jobs/scheduler.py": "import os\n" + numbered("line")})
    applied = apply(project, make_tree(project))
    assert not applied.failed
    assert applied.trials[0].files[0].detail == "hunks moved by +1 lines"


def test_a_mails_author_and_date_become_the_commits(project):
    folder = project.track_folder("1.2.0")
    add_series(project, ONE)
    edit_patch(folder / "one.patch", "From: launchguard <authors@launchguard.invalid>", "From: Jürgen <j@example.org>")
    edit_patch(folder / "one.patch", "Thu, 1 Jan 2026 00:00:00 +0000", "Mon, 1 Jun 2026 10:00:00 +0530")
    tree = applied_tree(project)
    assert tree.git.line("log", "-1", "--format=%an %ae %aI") == "Jürgen j@example.org 2026-06-01T10:00:00+05:30"
    assert tree.git.line("log", "-1", "--format=%cn %ce %cI") == (
        "launchguard authors@launchguard.invalid 2026-01-01T00:00:00+00:00"
    )


def test_the_work_tree_is_exactly_the_commit(three):
    add_series(
        three,
        Change("files", {"airflow-core/scripts/start": None, "task-sdk/a/b.py": "x\n", "task-sdk/crlf.txt": "a\r\nb"}),
    )
    tree = applied_tree(three)
    wanted = {path: tree.git.run("show", f"HEAD:{path}").out for path in files_at(tree.git)}
    assert work_files(tree.git.folder) == wanted


def test_ignored_leftovers_of_test_runs_do_not_stop_an_apply_and_stay(three):
    tree = applied_tree(three, until="one")
    cache = tree.git.folder / "task-sdk" / "__pycache__"
    cache.mkdir()
    (cache / "a.pyc").write_bytes(b"x")
    assert not apply(three, tree).failed
    assert (cache / "a.pyc").exists()


def test_another_process_in_the_same_tree_is_told_to_wait(project):
    add_three(project)
    tree = make_tree(project)
    with project.lock("1.2.0"), pytest.raises(LaunchguardError, match=r"another launchguard is working on 1\.2\.0"):
        apply(project, tree)


class TestScratchWorktree:
    def test_has_an_index_and_no_files_and_is_gone_afterwards(self, three):
        tree = applied_tree(three)
        with scratch_worktree(tree) as scratch:
            assert scratch.line("rev-parse", "HEAD") == tree.base
            assert scratch.line("ls-files", SCHEDULER) == SCHEDULER
            assert [path.name for path in scratch.folder.iterdir()] == [".git"]
        assert not scratch.folder.exists()
        assert len(tree.git.run("worktree", "list").text.splitlines()) == 1

    def test_is_gone_after_an_error_too(self, project):
        tree = make_tree(project)
        with pytest.raises(ZeroDivisionError), scratch_worktree(tree) as scratch:
            _ = 1 / 0
        assert not scratch.folder.exists()

    @pytest.mark.parametrize("locked", [False, True])
    def test_a_killed_ones_leftovers_are_cleared(self, project, locked):
        tree = make_tree(project)
        folder = tree.git.folder.with_name(".1.2.0.am")
        tree.git.run("worktree", "add", "--quiet", "--no-checkout", "--detach", folder, tree.base)
        if locked:  # as `git worktree add` has it while it is at work
            (registered,) = (tree.git.folder / ".git" / "worktrees").iterdir()
            (registered / "locked").write_text("initializing")
        (folder / "file").write_text("x")
        with scratch_worktree(tree) as scratch:
            assert [path.name for path in scratch.folder.iterdir()] == [".git"]
        assert len(tree.git.run("worktree", "list").text.splitlines()) == 1


def test_applying_keeps_what_others_did_on_other_branches(three):
    tree = applied_tree(three)
    tree.git.run("checkout", "--quiet", "-b", "mine")
    mine = commit(tree.git, {SCHEDULER: numbered("line", _3="mine = 1")}, message_for("mine"))
    tree.git.run("checkout", "--quiet", "launchguard")
    apply(three, tree, until="one")
    assert tree.git.resolve("mine") == mine


def test_what_was_applied_exports_as_it_was(three):
    folder = three.track_folder("1.2.0")
    tree = applied_tree(three)
    assert exported(tree) == {slug: (folder / f"{slug}.patch").read_bytes() for slug in SLUGS}
