from __future__ import annotations

import sys
from pathlib import Path

import pytest
from factories import EXECUTOR, SCHEDULER, launchguard, message_for, numbered
from series_factories import SLUGS, add_three, applied_tree, edit_patch, everything, series_bytes, subjects, work_files

from launchguard.apply import apply
from launchguard.edit import edit
from launchguard.errors import LaunchguardError
from launchguard.refresh import refresh
from launchguard.treestate import load_state

NEW_STEP = f"""sed -i 's/^step_20 = 20$/step_20 = "mine"/' {EXECUTOR}"""
COMMIT = "git add --all; git -c user.name=Me -c user.email=me@example.org commit --quiet"


@pytest.fixture(autouse=True)
def plain_shell(monkeypatch):
    monkeypatch.setenv("SHELL", "/bin/sh")


@pytest.fixture
def folder(three):
    return three.track_folder("1.2.0")


@pytest.fixture
def tree(three):
    return applied_tree(three)


def headers(git, revision="HEAD"):
    return git.line("log", "-1", "--format=%an %ae %aI %s", revision)


class TestKept:
    def test_what_is_changed_goes_into_the_named_patch(self, three, tree, folder):
        before, was = series_bytes(folder), headers(tree.git, "HEAD~1")
        edited = edit(three, tree, slug="two", command=f"{NEW_STEP}; echo new > task-sdk/new.txt")
        assert edited.kept
        assert (edited.refreshed.changed, edited.refreshed.kept) == (("two",), ("one", "three"))
        after = series_bytes(folder)
        assert {name for name in after if after[name] != before[name]} == {"two.patch"}
        assert b'\n+step_20 = "mine"\n' in after["two.patch"]
        assert b"task-sdk/new.txt" in after["two.patch"]
        assert headers(tree.git, "HEAD~1") == was
        assert [subject.split()[1] for subject in subjects(tree)] == list(SLUGS)
        assert apply(three, tree).unchanged

    def test_the_author_and_date_of_the_patch_stay(self, three, folder):
        who, day = b"launchguard <authors@launchguard.invalid>", b"Thu, 1 Jan 2026 00:00:00 +0000"
        for name in ("two.patch", "three.patch"):
            path = folder / name
            path.write_bytes(
                path.read_bytes()
                .replace(who, "Jürgen <j@x.org>".encode())
                .replace(day, b"Mon, 1 Jun 2026 10:00:00 +0530")
            )
        edited = edit(three, applied_tree(three), slug="two", command=NEW_STEP)
        assert edited.refreshed.changed == ("two",)
        for name in ("two.patch", "three.patch"):
            assert "\nFrom: Jürgen <j@x.org>\nDate: Mon, 1 Jun 2026 10:00:00 +0530\n" in (folder / name).read_text()

    def test_the_tree_stands_at_the_named_patch_meanwhile(self, three, tree, tmp_path):
        edit(three, tree, slug="two", command=f"git log --format=%s > {tmp_path}/log; pwd > {tmp_path}/pwd")
        assert [line.split()[1] for line in (tmp_path / "log").read_text().splitlines()[:2]] == ["two", "one"]
        assert (tmp_path / "pwd").read_text().strip() == str(tree.git.folder)

    def test_a_commit_amended_in_the_shell(self, three, tree, folder):
        command = f"{NEW_STEP}; git -c user.name=Me -c user.email=me@example.org commit -qa --amend --no-edit"
        assert edit(three, tree, slug="two", command=command).refreshed.changed == ("two",)

    def test_the_first_and_the_last_patch(self, three, tree):
        assert edit(three, tree, slug="one", command="echo x > task-sdk/x.txt").refreshed.changed == ("one",)
        assert edit(three, tree, slug="three", command="echo y > task-sdk/y.txt").refreshed.changed == ("three",)
        assert len(subjects(tree)) == 3

    def test_a_new_commit_without_naming_a_patch(self, three, tree, folder, tmp_path):
        (tmp_path / "message").write_text(message_for("four"))
        edited = edit(three, tree, command=f"echo x > task-sdk/x.txt; {COMMIT} -F {tmp_path}/message")
        assert edited.refreshed.added == ("four",)
        assert edited.refreshed.kept == SLUGS
        assert b"\nFrom: Ada Example <ada@example.org>\n" in (folder / "four.patch").read_bytes()

    def test_a_new_patch_behind_the_named_one(self, three, tree, folder, tmp_path):
        (tmp_path / "message").write_text(message_for("new"))
        edited = edit(three, tree, slug="one", command=f"echo x > task-sdk/x.txt; {COMMIT} -F {tmp_path}/message")
        assert edited.refreshed.added == ("new",)
        assert (folder / "series").read_text() == "one\nnew\ntwo\nthree\n"

    def test_nothing_changed_changes_nothing(self, three, tree, folder):
        before = series_bytes(folder)
        assert edit(three, tree, slug="one", command="true").refreshed.kept == SLUGS
        assert edit(three, tree, command="true").refreshed.kept == SLUGS
        assert series_bytes(folder) == before
        assert apply(three, tree).unchanged

    def test_files_that_the_users_own_settings_ignore_are_kept_too(self, three, tree):
        folder = Path.home() / ".config" / "git"
        folder.mkdir(parents=True)
        (folder / "ignore").write_text("*.txt\n")
        edit(three, tree, slug="two", command="echo x > task-sdk/x.txt")
        assert "task-sdk/x.txt" in tree.git.run("show", "--name-only", "HEAD~1").text

    def test_comment_like_lines_of_the_patches_behind_stay(self, three, folder):
        edit_patch(folder / "three.patch", "It did not.", "# not a comment\n#1 is fixed")
        tree = applied_tree(three)
        tree.git.run("config", "commit.cleanup", "strip")
        assert edit(three, tree, slug="one", command="echo x > task-sdk/x.txt").refreshed.changed == ("one",)

    def test_a_tree_that_was_never_applied_is_applied_first(self, project):
        from factories import make_tree  # noqa: PLC0415

        add_three(project)
        assert edit(project, make_tree(project), slug="two", command=NEW_STEP).refreshed.changed == ("two",)


class TestDiscarded:
    @pytest.mark.parametrize("slug", [None, "one", "three"])
    def test_puts_everything_back_and_keeps_a_copy(self, three, tree, folder, slug):
        before, patches, state = everything(tree.git), series_bytes(folder), load_state(tree.git)
        command = f"echo changed >> {SCHEDULER}; {COMMIT} -m Half; echo more > task-sdk/more.txt; exit 3"
        edited = edit(three, tree, slug=slug, command=command)
        assert (edited.kept, edited.refreshed) == (False, None)
        after = everything(tree.git)
        assert (after[0], after[2]) == (before[0], before[2])
        assert load_state(tree.git) == state
        assert series_bytes(folder) == patches
        assert tree.git.run("show", f"{edited.backup}:task-sdk/more.txt").text == "more\n"
        assert tree.git.run("show", f"{edited.backup}:{SCHEDULER}").text.endswith("changed\n")
        assert tree.git.line("log", "-1", "--format=%s", f"{edited.backup}^") == "Half"
        assert apply(three, tree).unchanged

    def test_nothing_done_leaves_no_copy(self, three, tree):
        for slug in (None, "one"):
            assert edit(three, tree, slug=slug, command="false").backup is None
        assert apply(three, tree).unchanged

    def test_an_operation_that_was_left_open_is_closed(self, three, tree):
        command = f"echo changed > {SCHEDULER}; {COMMIT} -m Half; git revert HEAD~1; exit 1"
        assert not edit(three, tree, command=command).kept
        assert tree.git.open_operation() is None
        assert apply(three, tree).unchanged


class TestConflict:
    CONFLICT = f"""sed -i 's/^line_30 = 30$/line_30 = "mine"/' {SCHEDULER}"""

    def test_leaves_the_tree_at_it_with_the_way_on(self, three, tree, folder):
        before = series_bytes(folder)
        with pytest.raises(LaunchguardError, match="a patch behind it conflicts in ") as error:
            edit(three, tree, slug="two", command=self.CONFLICT)
        assert f"{SCHEDULER}: resolve it in {tree.git.folder} (git add, git cherry-pick --continue)" in str(error.value)
        assert series_bytes(folder) == before
        assert tree.git.open_operation() == "cherry-pick"
        (tree.git.folder / SCHEDULER).write_text(numbered("line", _3='line_3 = "one"', _30='line_30 = "both"'))
        tree.git.run("add", ".")
        tree.git.run("cherry-pick", "--continue")
        assert refresh(three, tree).changed == ("two", "three")
        assert apply(three, tree).unchanged

    def test_giving_up_keeps_every_patch(self, three, tree, folder):
        with pytest.raises(LaunchguardError, match="conflicts"):
            edit(three, tree, slug="two", command=self.CONFLICT)
        tree.git.run("cherry-pick", "--abort")
        assert refresh(three, tree).removed == ()
        assert (folder / "series").read_text() == "one\ntwo\nthree\n"

    def test_a_patch_that_becomes_empty_is_told_of_not_dropped(self, three, tree, folder):
        before = series_bytes(folder)
        files = work_files(tree.git.folder)
        command = "".join(
            f"cat > {path} <<'END'\n{files[path].decode()}END\n"
            for path in (SCHEDULER, "airflow-core/src/airflow/jobs/launch.py")
        )
        with pytest.raises(LaunchguardError, match="'Make three hold' changes nothing; drop that commit"):
            edit(three, tree, slug="two", command=command)
        assert series_bytes(folder) == before


class TestRefused:
    def test_inside_another_edit(self, three, tree, monkeypatch):
        monkeypatch.setenv("LAUNCHGUARD_EDIT", "two")
        with pytest.raises(LaunchguardError, match="this shell is an edit of two already; exit it first"):
            edit(three, tree, slug="one", command="true")

    def test_the_shell_of_an_edit_knows_that_it_is_one(self, three, tree, tmp_path):
        edit(three, tree, slug="two", command=f"echo $LAUNCHGUARD_EDIT > {tmp_path}/mark")
        assert (tmp_path / "mark").read_text() == "two\n"

    def test_an_unknown_patch(self, three, tree):
        with pytest.raises(LaunchguardError, match=r"no patch '\.\*'; it has: one, two, three"):
            edit(three, tree, slug=".*", command="true")

    def test_unknown_work_in_the_tree(self, three, tree):
        (tree.git.folder / SCHEDULER).write_text("x\n")
        with pytest.raises(LaunchguardError, match="holds uncommitted changes"):
            edit(three, tree, slug="one", command="true")
        assert (tree.git.folder / SCHEDULER).read_text() == "x\n"

    def test_a_series_that_does_not_apply(self, three, tree, folder):
        edit_patch(folder / "two.patch", " step_4 = 4\n", " step_0 = 0\n")
        with pytest.raises(LaunchguardError, match="the series does not apply; see `launchguard apply`"):
            edit(three, tree, command="true")

    def test_changes_without_a_commit_and_without_a_name(self, three, tree):
        with pytest.raises(LaunchguardError, match="uncommitted changes"):
            edit(three, tree, command="echo x > task-sdk/x.txt")
        assert (tree.git.folder / "task-sdk/x.txt").exists()

    def test_changes_above_a_new_commit(self, three, tree, folder, tmp_path):
        (tmp_path / "message").write_text(message_for("new"))
        command = f"echo x > task-sdk/x.txt; {COMMIT} -F {tmp_path}/message; echo y > task-sdk/y.txt"
        with pytest.raises(LaunchguardError, match="commits stand above one and changes are left uncommitted"):
            edit(three, tree, slug="one", command=command)
        tree.git.run("add", ".")
        tree.git.run("commit", "--quiet", "--amend", "--no-edit")
        assert refresh(three, tree).removed == ()
        assert (folder / "series").read_text() == "one\nnew\ntwo\nthree\n"

    def test_an_operation_that_was_left_open(self, three, tree, folder):
        before = series_bytes(folder)
        with pytest.raises(
            LaunchguardError, match=r"a revert is half done in .*; finish it, then `launchguard refresh`"
        ):
            edit(three, tree, slug="two", command="git revert --no-commit HEAD")
        assert series_bytes(folder) == before


class TestInterrupted:
    def test_a_refresh_in_the_middle_keeps_the_patches_behind(self, three, tree, folder, monkeypatch):
        monkeypatch.setenv("LAUNCHGUARD_ROOT", str(three.root))
        command = f"{NEW_STEP}; {COMMIT} --amend --no-edit; {sys.executable} -m launchguard refresh; exit 1"
        edit(three, tree, slug="two", command=command)
        assert sorted(series_bytes(folder)) == ["one.patch", "series", "three.patch", "two.patch"]
        assert b'step_20 = "mine"' in (folder / "two.patch").read_bytes()

    def test_a_killed_edit_is_put_right_by_apply(self, three, tree, folder):
        ended = launchguard("edit", "two", "-c", "kill -9 $PPID; sleep 1", project=three)
        assert ended.code == -9
        assert len(subjects(tree)) == 2
        assert not apply(three, tree).failed
        assert len(subjects(tree)) == 3

    def test_work_in_a_killed_edit_is_not_discarded(self, three, tree):
        launchguard("edit", "two", "-c", f"{NEW_STEP}; kill -9 $PPID; sleep 1", project=three)
        with pytest.raises(LaunchguardError, match="holds uncommitted changes"):
            apply(three, tree)
        assert b'step_20 = "mine"' in work_files(tree.git.folder)[EXECUTOR]


def test_the_interactive_shell_is_the_users_and_says_what_its_exit_means(three, tree, tmp_path, monkeypatch, capfd):
    shell = tmp_path / "shell"
    shell.write_text(f"#!/bin/sh\necho $# > {tmp_path}/arguments\necho x > task-sdk/x.txt\n")
    shell.chmod(0o755)
    monkeypatch.setenv("SHELL", str(shell))
    assert edit(three, tree, slug="two").refreshed.changed == ("two",)
    assert (tmp_path / "arguments").read_text() == "0\n"
    text = capfd.readouterr().err
    assert f"a shell in {tree.git.folder}" in text
    assert "exit 0 keeps the work and refreshes the patches, any other exit (exit 1) discards it" in text
