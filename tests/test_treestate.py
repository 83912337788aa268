from __future__ import annotations

import pytest
from factories import EXECUTOR, SCHEDULER, commit, make_tree, message_for, numbered
from msgspec.structs import replace
from series_factories import applied_tree, everything, files_at, work_files

from launchguard.apply import apply
from launchguard.errors import LaunchguardError
from launchguard.treestate import TreeState, back_up, load_state, save_state, series_key, unknown_work

MINE = numbered("line", _20="mine = 1")


@pytest.fixture
def tree(three):
    return applied_tree(three)


def open_merge(git, *words):
    """Leave a merge, rebase, cherry-pick, revert or am of two commits on one line half done."""
    git.run("checkout", "--quiet", "-b", "theirs")
    theirs = commit(git, {SCHEDULER: numbered("line", _3="theirs = 1")}, message_for("theirs"))
    git.run("format-patch", "--quiet", "-1", "--output=../theirs.patch")
    git.run("checkout", "--quiet", "launchguard")
    mine = commit(git, {SCHEDULER: numbered("line", _3="mine = 1")}, message_for("mine"))
    ended = git.run(*(word.format(theirs=theirs, old=f"{mine}~3") for word in words), check=False)
    assert ended.code
    return mine, theirs


OPERATIONS = {
    "merge": ("merge", "theirs"),
    "rebase": ("rebase", "theirs"),
    "git am or rebase": ("am", "--3way", "../theirs.patch"),
    "cherry-pick": ("cherry-pick", "{theirs}"),
    "revert": ("revert", "--no-edit", "{old}"),
}


class TestRefusals:
    def refused(self, three, tree, match):
        before = everything(tree.git)
        with pytest.raises(LaunchguardError, match=match) as error:
            apply(three, tree, until="one")
        assert everything(tree.git) == before
        return str(error.value)

    def test_unknown_commits(self, three, tree):
        commit(tree.git, {SCHEDULER: MINE}, message_for("mine"))
        text = self.refused(three, tree, r"holds commits that .*patches/1\.2\.0 does not have")
        for way in ("launchguard refresh", "git branch my-work", "--force", str(tree.git.folder)):
            assert way in text

    def test_unknown_commits_on_our_branch_while_another_is_checked_out(self, three, tree):
        commit(tree.git, {SCHEDULER: MINE}, message_for("mine"))
        tree.git.run("checkout", "--quiet", "--detach", tree.base)
        self.refused(three, tree, "holds commits that ")

    @pytest.mark.parametrize("kind", ["changed", "staged", "new", "deleted"])
    def test_uncommitted_changes(self, three, tree, kind):
        path = tree.git.folder / ("task-sdk/new.py" if kind == "new" else SCHEDULER)
        path.unlink() if kind == "deleted" else path.write_text(MINE)
        if kind == "staged":
            tree.git.run("add", ".")
        self.refused(three, tree, "holds uncommitted changes; keep them with `launchguard refresh`")

    @pytest.mark.parametrize("operation", OPERATIONS)
    def test_half_done_operations(self, three, tree, operation):
        open_merge(tree.git, *OPERATIONS[operation])
        self.refused(three, tree, f"a {operation} is half done in .*; finish or abort it there first")

    def test_a_half_done_operation_at_our_own_commit(self, three, tree):
        tree.git.run("rebase", "-i", "HEAD~1", env={"GIT_SEQUENCE_EDITOR": "echo break >>"})
        assert tree.git.resolve("HEAD") == load_state(tree.git).head
        with pytest.raises(LaunchguardError, match="a rebase is half done"):
            apply(three, tree)

    def test_a_finished_operation_is_not_half_done(self, three, tree):
        tree.git.run("branch", "mine", tree.base)
        tree.git.run("merge", "--quiet", "mine")
        assert unknown_work(tree, folder=three.track_folder("1.2.0")) is None


class TestForce:
    def test_without_work_there_is_no_backup(self, three, tree):
        assert apply(three, tree, until="one", force=True).backup is None
        assert tree.git.run("for-each-ref", "refs/launchguard/backup").text == ""

    def test_a_commit_and_changes_on_top_of_it_are_kept(self, three, tree):
        git = tree.git
        mine = commit(git, {SCHEDULER: MINE}, message_for("mine"))
        (git.folder / EXECUTOR).write_text("changed\n")
        (git.folder / "task-sdk" / "new.py").write_text("new\n")
        (git.folder / "README.md").unlink()
        there = work_files(git.folder)
        applied = apply(three, tree, until="one", force=True)
        assert git.resolve(f"{applied.backup}^") == mine
        kept = {path: git.run("show", f"{applied.backup}:{path}").out for path in files_at(git, applied.backup)}
        assert kept == there
        assert git.changes() == []
        assert not (git.folder / "task-sdk" / "new.py").exists()
        assert applied.head == git.resolve("HEAD")
        assert apply(three, tree, until="one").unchanged

    def test_two_backups_stand_side_by_side(self, three, tree):
        refs = []
        for text in ("a\n", "b\n"):
            (tree.git.folder / SCHEDULER).write_text(text)
            refs.append(apply(three, tree, force=True).backup)
        assert [tree.git.run("show", f"{ref}:{SCHEDULER}").text for ref in refs] == ["a\n", "b\n"]

    def test_commits_on_our_branch_are_kept_while_another_commit_is_checked_out(self, three, tree):
        mine = commit(tree.git, {SCHEDULER: MINE}, message_for("mine"))
        tree.git.run("checkout", "--quiet", "--detach", tree.base)
        backup = apply(three, tree, force=True).backup
        assert mine in tree.git.run("rev-list", backup).text.split()

    @pytest.mark.parametrize("operation", OPERATIONS)
    def test_a_half_done_operation_is_dropped_with_both_sides_kept(self, three, tree, operation):
        mine, _ = open_merge(tree.git, *OPERATIONS[operation])
        there = work_files(tree.git.folder)[SCHEDULER]
        backup = apply(three, tree, force=True).backup
        assert mine in tree.git.run("rev-list", backup).text.split()
        assert tree.git.run("show", f"{backup}:{SCHEDULER}").out == there
        assert tree.git.open_operation() is None
        assert tree.git.changes() == []
        assert apply(three, tree).unchanged

    def test_a_series_that_fails_discards_nothing_although_forced(self, three, tree):
        (three.track_folder("1.2.0") / "two.patch").write_bytes(b"")
        (tree.git.folder / SCHEDULER).write_text(MINE)
        before = everything(tree.git)
        assert apply(three, tree, force=True).failed
        assert everything(tree.git) == before


class TestInterruptedMove:
    def test_is_done_again_without_asking(self, three, tree):
        save_state(tree.git, TreeState(head=tree.git.resolve("HEAD"), key="x", moving=tree.base))
        (tree.git.folder / SCHEDULER).write_text(numbered("line"))
        (tree.git.folder / ".git" / "index.lock").touch()
        applied = apply(three, tree)
        assert not applied.failed
        assert tree.git.changes() == []
        assert load_state(tree.git).moving == ""
        assert apply(three, tree).unchanged

    def test_that_had_not_begun_is_ended_by_an_apply_of_what_is_there(self, three, tree):
        save_state(tree.git, replace(load_state(tree.git), moving=tree.base))
        assert not apply(three, tree).failed
        assert load_state(tree.git).moving == ""

    def test_keeps_what_somebody_wrote_since(self, three, tree):
        save_state(tree.git, TreeState(head=tree.git.resolve("HEAD"), key="x", moving=tree.base))
        (tree.git.folder / SCHEDULER).write_text(MINE)
        applied = apply(three, tree)
        assert tree.git.run("show", f"{applied.backup}:{SCHEDULER}").text == MINE

    @pytest.mark.parametrize("name", ["index.lock", "HEAD.lock", "refs/heads/launchguard.lock"])
    def test_a_dead_gits_lock_does_not_stop_it(self, three, tree, name):
        (tree.git.folder / ".git" / name).touch()
        assert not apply(three, tree, until="one").failed


class TestRecord:
    def test_a_tree_without_one(self, project):
        tree = make_tree(project)
        (tree.git.folder / ".git" / "launchguard.json").unlink(missing_ok=True)
        assert load_state(tree.git) == TreeState()
        assert unknown_work(tree, folder=project.patches) is None

    def test_comes_back_as_saved(self, project):
        tree = make_tree(project)
        state = TreeState(head="a", key="b", until="c", moving="d")
        save_state(tree.git, state)
        assert load_state(tree.git) == state

    def test_apply_records_where_it_stopped(self, three, tree):
        apply(three, tree, until="two")
        state = load_state(tree.git)
        assert (state.head, state.until, state.moving) == (tree.git.resolve("HEAD"), "two", "")


def test_the_key_depends_on_base_names_contents_and_order(project):
    from dataclasses import dataclass  # noqa: PLC0415

    @dataclass
    class Stub:
        base: str

    def key(base="b", **patches):
        return series_key(Stub(base), {slug: content.encode() for slug, content in patches.items()})

    keys = [
        key(),
        key("c"),
        key(x="1"),
        key(y="1"),
        key(x="2"),
        key(x="1", y="2"),
        key(y="2", x="1"),
        key(x="1\0y\x002"),
    ]
    assert len(set(keys)) == len(keys)
    assert key(x="1") == key(x="1")


def test_backing_up_leaves_the_tree_as_it_stands(project):
    tree = make_tree(project)
    (tree.git.folder / SCHEDULER).write_text(MINE)
    tree.git.run("add", SCHEDULER)
    (tree.git.folder / EXECUTOR).write_text("x\n")
    before = everything(tree.git)
    ref = back_up(tree)
    after = everything(tree.git)
    assert ref in after[1]
    assert (after[0], after[2], after[3]) == (before[0], before[2], before[3])
