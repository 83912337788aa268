from __future__ import annotations

import pytest
from factories import EXECUTOR, SCHEDULER, commit, make_tree, message_for, numbered
from series_factories import (
    SLUGS,
    TWO,
    applied_tree,
    edit_patch,
    everything,
    series_bytes,
    subjects,
    with_message,
)

from launchguard.apply import apply
from launchguard.errors import LaunchguardError
from launchguard.refresh import refresh
from launchguard.treestate import TreeState, load_state, save_state

MINE = numbered("line", _3='line_3 = "one"', _30='line_30 = "three"', _20="mine = 1")


@pytest.fixture
def folder(three):
    return three.track_folder("1.2.0")


@pytest.fixture
def tree(three):
    return applied_tree(three)


def summary(refreshed):
    return refreshed.added, refreshed.changed, refreshed.removed, refreshed.kept


def refused(three, tree, match):
    """Check that a refresh is refused and changes neither the tree nor the patches; gives the text."""
    folder = three.track_folder("1.2.0")
    before = everything(tree.git), series_bytes(folder)
    with pytest.raises(LaunchguardError, match=match) as error:
        refresh(three, tree)
    assert (everything(tree.git), series_bytes(folder)) == before
    return str(error.value)


def reorder(git, *revisions):
    """Make the branch the named commits in this order."""
    commits = [git.line("rev-parse", revision) for revision in revisions]
    git.run("reset", "--quiet", "--hard", "refs/launchguard/base")
    for one in commits:
        git.run("cherry-pick", one)


class TestWhatIsWritten:
    def test_nothing_new_changes_no_byte(self, three, tree, folder):
        before = series_bytes(folder)
        assert summary(refresh(three, tree)) == ((), (), (), SLUGS)
        assert series_bytes(folder) == before

    def test_an_amended_commit(self, three, tree, folder):
        before = series_bytes(folder)
        (tree.git.folder / SCHEDULER).write_text(MINE)
        tree.git.run("commit", "--quiet", "--all", "--amend", "--no-edit")
        assert summary(refresh(three, tree)) == ((), ("three",), (), ("one", "two"))
        after = series_bytes(folder)
        assert {name for name in after if after[name] != before[name]} == {"three.patch"}
        assert b"\n+mine = 1\n" in after["three.patch"]

    def test_a_new_commit(self, three, tree, folder):
        commit(tree.git, {SCHEDULER: MINE}, message_for("mine"))
        assert summary(refresh(three, tree)) == (("mine",), (), (), SLUGS)
        assert (folder / "series").read_text() == "one\ntwo\nthree\nmine\n"
        assert apply(three, tree).unchanged
        assert subjects(tree)[-1] == "Make mine hold"

    def test_a_dropped_commit(self, three, tree, folder):
        reorder(tree.git, "HEAD~2", "HEAD")
        assert summary(refresh(three, tree)) == ((), (), ("two",), ("one", "three"))
        assert sorted(series_bytes(folder)) == ["one.patch", "series", "three.patch"]
        assert (folder / "series").read_text() == "one\nthree\n"

    def test_another_order_with_the_comments_kept(self, three, tree, folder):
        (folder / "series").write_text("# all\n# first\none\n# second\ntwo  # note\n\n# third\nthree\n# end\n")
        assert apply(three, tree).unchanged
        reorder(tree.git, "HEAD~1", "HEAD~2", "HEAD")
        assert refresh(three, tree).removed == ()
        assert (folder / "series").read_text() == (
            "# second\ntwo  # note\n# all\n# first\none\n\n# third\nthree\n# end\n"
        )
        assert apply(three, tree).unchanged

    def test_a_renamed_patch(self, three, tree, folder):
        text = tree.git.run("log", "-1", "--format=%B").text.replace("Slug: three", "Slug: third")
        tree.git.run("commit", "--quiet", "--amend", "--file=-", stdin=text.encode())
        assert summary(refresh(three, tree)) == (("third",), (), ("three",), ("one", "two"))
        assert (folder / "series").read_text() == "one\ntwo\nthird\n"

    def test_the_first_patch_of_a_track(self, project):
        tree = make_tree(project)
        commit(tree.git, {EXECUTOR: TWO.files[EXECUTOR]}, message_for("two"))
        assert refresh(project, tree).added == ("two",)
        assert sorted(series_bytes(project.track_folder("1.2.0"))) == ["series", "two.patch"]
        assert apply(project, tree).unchanged

    def test_a_track_without_patches_and_commits(self, project):
        assert summary(refresh(project, make_tree(project))) == ((), (), (), ())

    def test_offsets_are_written_straight(self, three, tree, folder):
        edit_patch(folder / "three.patch", "@@ -27,7 +27,7 @@ line_26 = 26", "@@ -25,7 +25,7 @@ line_26 = 26")
        applied = apply(three, tree)
        assert [file.detail for trial in applied.trials for file in trial.files if file.detail] == [
            "hunks moved by +2 lines"
        ]
        assert refresh(three, tree).changed == ("three",)
        assert b"@@ -27,7 +27,7 @@ line_26 = 26" in (folder / "three.patch").read_bytes()

    def test_files_beside_the_patches_stay(self, three, tree, folder):
        (folder / "lanes").mkdir()
        (folder / "lanes" / "head.txt").write_text("x")
        (folder / "notes.md").write_text("x")
        commit(tree.git, {SCHEDULER: MINE}, message_for("mine"))
        refresh(three, tree)
        assert (folder / "lanes" / "head.txt").exists()
        assert (folder / "notes.md").exists()
        assert not (folder / ".refresh").exists()

    def test_a_lost_patch_file_comes_back(self, three, tree, folder):
        before = series_bytes(folder)
        (folder / "two.patch").unlink()
        assert refresh(three, tree).changed == ("two",)
        assert series_bytes(folder) == before


class TestAfterUntil:
    @pytest.fixture
    def tree(self, three):
        return applied_tree(three, until="one")

    def test_the_patches_behind_stay_as_they_are(self, three, tree, folder):
        before = series_bytes(folder)
        assert summary(refresh(three, tree)) == ((), (), (), SLUGS)
        assert series_bytes(folder) == before
        assert apply(three, tree, until="one").unchanged

    def test_a_new_commit_goes_in_between(self, three, tree, folder):
        commit(tree.git, {"task-sdk/new.txt": "x\n"}, message_for("new"))
        assert summary(refresh(three, tree)) == (("new",), (), (), SLUGS)
        assert (folder / "series").read_text() == "one\nnew\ntwo\nthree\n"
        assert load_state(tree.git).until == "new"
        assert not apply(three, tree).unchanged
        assert [subject.split()[1] for subject in subjects(tree)] == ["one", "new", "two", "three"]

    def test_dropping_the_one_it_stopped_at_does_not_count_the_rest_as_applied(self, three, folder):
        tree = applied_tree(three, until="two")
        reorder(tree.git, "HEAD~1")
        assert summary(refresh(three, tree)) == ((), (), ("two",), ("one", "three"))
        assert not apply(three, tree).unchanged
        assert [subject.split()[1] for subject in subjects(tree)] == ["one", "three"]

    def test_a_later_patch_taken_in_early_is_not_doubled(self, three, tree, folder):
        apply(three, tree)
        third = tree.git.resolve("HEAD")
        apply(three, tree, until="one")
        tree.git.run("cherry-pick", third)
        (tree.git.folder / SCHEDULER).write_text(MINE)
        tree.git.run("commit", "--quiet", "--all", "--amend", "--no-edit")
        assert summary(refresh(three, tree)) == ((), ("three",), (), ("one", "two"))
        assert (folder / "series").read_text() == "one\nthree\ntwo\n"
        assert b"\n+mine = 1\n" in (folder / "three.patch").read_bytes()

    def test_the_whole_series_applied_again_is_recorded_as_such(self, three, tree):
        apply(three, tree)
        refresh(three, tree)
        assert load_state(tree.git).until is None


class TestRefusals:
    def test_an_empty_export_over_a_full_series(self, three, tree):
        tree.git.run("reset", "--quiet", "--hard", tree.base)
        refused(three, tree, "has no commits above its base, and refresh would delete all 3 patches; run apply first")

    @pytest.mark.parametrize("kind", ["changed", "staged", "new"])
    def test_uncommitted_changes(self, three, tree, kind):
        (tree.git.folder / ("task-sdk/new.py" if kind == "new" else SCHEDULER)).write_text(MINE)
        if kind == "staged":
            tree.git.run("add", ".")
        refused(three, tree, r"has 1 uncommitted changes \(.*; commit them into the patch they belong to")

    def test_a_half_done_operation(self, three, tree):
        tree.git.run("revert", "--no-commit", "HEAD")
        refused(three, tree, "a revert is half done in .*; finish or abort it there, then refresh")

    def test_a_rebase_that_stopped_to_edit(self, three, tree):
        tree.git.run("rebase", "-i", "HEAD~2", env={"GIT_SEQUENCE_EDITOR": "sed -i 1s/pick/edit/"})
        refused(three, tree, "a rebase is half done")

    def test_an_interrupted_apply(self, three, tree):
        whole = tree.git.resolve("HEAD")
        apply(three, tree, until="one")
        state = load_state(tree.git)
        save_state(tree.git, TreeState(head=whole, key=state.key, moving=state.head))
        refused(three, tree, "an apply in .* was interrupted; run `launchguard apply` again, then refresh")

    def test_a_merge(self, three, tree):
        tree.git.run("checkout", "--quiet", "-b", "side", "HEAD~1")
        commit(tree.git, {"task-sdk/side.txt": "x\n"}, message_for("side"))
        tree.git.run("checkout", "--quiet", "launchguard")
        tree.git.run("merge", "--quiet", "--no-edit", "side")
        refused(three, tree, "history has a merge; rebase it into a line, then refresh")

    def test_a_history_that_stands_on_something_else(self, three, tree):
        tree.git.run("checkout", "--quiet", "--orphan", "other")
        tree.git.run("commit", "--quiet", "-m", "Other")
        refused(three, tree, f"does not stand on the track's base; rebase it onto {tree.base[:12]}")

    def test_a_commit_without_a_slug_says_how_to_give_it_one(self, three, tree):
        commit(tree.git, {SCHEDULER: MINE}, "Quick fix\n")
        refused(
            three, tree, "'Quick fix': no Launchguard-Slug trailer .git commit --amend --trailer 'Launchguard-Slug: "
        )

    @pytest.mark.parametrize("slug", ["../evil", "Big", "a b", "series/x"])
    def test_a_slug_that_is_none(self, three, tree, slug):
        commit(tree.git, {SCHEDULER: MINE}, message_for(slug))
        refused(three, tree, "no Launchguard-Slug trailer")

    def test_a_slug_twice(self, three, tree):
        commit(tree.git, {SCHEDULER: MINE}, message_for("one"))
        refused(three, tree, "two commits carry Launchguard-Slug: one; squash them or rename one")

    def test_an_empty_commit(self, three, tree):
        commit(tree.git, {}, message_for("nothing"))
        refused(three, tree, "'Make nothing hold' changes nothing; drop that commit")

    def test_everything_that_is_wrong_with_all_commits_at_once(self, three, tree):
        commit(tree.git, {SCHEDULER: MINE}, "Quick fix\n")
        commit(tree.git, {SCHEDULER: MINE + "x = 1\n"}, message_for("one"))
        commit(tree.git, {SCHEDULER: MINE + "x = 2\n"}, message_for("bad", Rules="none", Upstream_Status="soon"))
        text = refused(three, tree, "commits that cannot be exported")
        for told in ("'Quick fix': no", "two commits carry", "bad.patch: Rules is", "bad.patch: Upstream-Status is"):
            assert told in text

    @pytest.mark.parametrize(
        "line", ["---", "--- a/file", "diff -u a b", "diff --git a/x b/x", "Index: file", "@@ -1,2 +1,3 @@"]
    )
    def test_a_message_that_git_would_cut(self, three, tree, line):
        commit(tree.git, {SCHEDULER: MINE}, with_message("mine", f"Because:\n\n{line}\nmore"))
        refused(three, tree, f"the message has the line '{line}', where git cuts it".replace("+", r"\+"))

    def test_a_message_that_would_come_back_changed(self, three, tree):
        message = with_message("mine", "two blank lines\n\n\nin a row")
        (tree.git.folder / SCHEDULER).write_text(MINE)
        tree.git.run("commit", "--quiet", "-a", "--cleanup=verbatim", "-F-", stdin=message.encode())
        text = refused(three, tree, "commits that the next apply would bring back changed; reword them")
        assert r"mine.patch: line 8 is '\n', an export gives 'in a row\n'" in text


class TestPatchesThatChangedSinceTheyWereApplied:
    """As after pulling somebody's work on the patches."""

    def test_an_edited_patch_is_not_overwritten(self, three, tree, folder):
        edit_patch(folder / "two.patch", "It did not.", "It did not, ever.")
        text = refused(three, tree, "the track's patches changed since they were applied")
        assert "would undo that in two.patch; keep the tree's commits (git branch my-work)" in text

    def test_a_new_patch_is_not_deleted(self, three, tree, folder):
        patch = (folder / "two.patch").read_bytes().replace(b"Slug: two", b"Slug: four")
        (folder / "four.patch").write_bytes(patch)
        (folder / "series").write_text("one\ntwo\nthree\nfour\n")
        refused(three, tree, r"would undo that in four\.patch")

    def test_nor_is_a_series_that_was_never_applied_here(self, three, folder):
        tree = make_tree(three)
        tree.git.run("reset", "--quiet", "--hard", tree.base)
        save_state(tree.git, TreeState(head=tree.base))
        commit(tree.git, {SCHEDULER: MINE}, message_for("mine"))
        refused(three, tree, r"would undo that in one\.patch, two\.patch, three\.patch")

    def test_a_change_behind_the_one_that_apply_stopped_at_stays(self, three, folder):
        tree = applied_tree(three, until="one")
        edit_patch(folder / "three.patch", "It did not.", "It did not, ever.")
        commit(tree.git, {"task-sdk/new.txt": "x\n"}, message_for("new"))
        assert refresh(three, tree).added == ("new",)
        assert b"ever" in (folder / "three.patch").read_bytes()

    def test_what_the_tree_has_too_is_no_loss(self, three, tree, folder):
        """As after a kill between the writing of the patches and the tree's record."""
        commit(tree.git, {SCHEDULER: MINE}, message_for("mine"))
        state = load_state(tree.git)
        refresh(three, tree)
        save_state(tree.git, state)
        assert refresh(three, tree).kept == (*SLUGS, "mine")
        assert apply(three, tree).unchanged


def test_another_process_in_the_same_tree_is_told_to_wait(three, tree):
    with three.lock("1.2.0"), pytest.raises(LaunchguardError, match="another launchguard is working on"):
        refresh(three, tree)
