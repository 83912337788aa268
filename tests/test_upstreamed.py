from __future__ import annotations

import pytest
from factories import SCHEDULER, Change, add_series, commit, make_tree, message_for, numbered
from series_factories import ONE, add_three

from launchguard.patchfile import read_patch
from launchguard.upstreamed import Evidence, find_upstreamed


def found(project, tree, *, old="base", slug="one"):
    folder = project.track_folder("1.2.0")
    head = tree.git.resolve("HEAD")
    return find_upstreamed(
        tree.git, read_patch(folder, slug), folder / f"{slug}.patch", old=tree.base if old == "base" else old, new=head
    )


@pytest.fixture
def tree(project):
    """A tree whose branch plays the newer base."""
    add_three(project)
    return make_tree(project)


def test_nothing_without_anything_alike(project, tree):
    assert found(project, tree) == []
    commit(tree.git, {SCHEDULER: numbered("line", _3="x = 3")}, "Other\n")
    assert found(project, tree) == []


def test_the_whole_change_is_there(project, tree):
    at = commit(tree.git, ONE.files, "Something else\n")
    assert [(one.evidence, one.commit) for one in found(project, tree)] == [
        (Evidence.REVERSE_APPLIES, None),
        (Evidence.PATCH_ID, at),
    ]


def test_without_history_only_the_change_itself_counts(project, tree):
    commit(tree.git, ONE.files, message_for("one"))
    assert [one.evidence for one in found(project, tree, old=None)] == [Evidence.REVERSE_APPLIES]


def test_the_change_is_known_at_other_lines(project, tree):
    late = numbered("line", _3='line_3 = "one"', _30='line_30 = "three"', _37="x = 37")
    add_series(project, Change("late", {SCHEDULER: late}))
    commit(tree.git, {SCHEDULER: numbered("line", _20="a = 1\nb = 2\nc = 3")}, "Before\n")
    both = numbered("line", _20="a = 1\nb = 2\nc = 3", _37="x = 37")
    at = commit(tree.git, {SCHEDULER: numbered("line", _20="a = 1\nb = 2\nc = 3", _37="x = 37.0")}, "Another\n")
    assert found(project, tree, slug="late") == []
    tree.git.run("revert", "--no-edit", at)
    at = commit(tree.git, {SCHEDULER: both}, "The same\n")
    commit(tree.git, {SCHEDULER: both.replace("x = 37", "x = 36")}, "Reworked\n")
    assert [(one.evidence, one.commit) for one in found(project, tree, slug="late")] == [(Evidence.PATCH_ID, at)]


def test_a_change_that_was_taken_back_is_still_found_with_its_commit(project, tree):
    at = commit(tree.git, ONE.files, "Hold\n")
    tree.git.run("revert", "--no-edit", at)
    assert [(one.evidence, one.commit) for one in found(project, tree)] == [(Evidence.PATCH_ID, at)]


def test_every_commit_that_makes_the_change_is_named(project, tree):
    first = commit(tree.git, ONE.files, "Hold\n")
    tree.git.run("revert", "--no-edit", first)
    second = commit(tree.git, ONE.files, "Hold again\n")
    by_patch_id = [one.commit for one in found(project, tree) if one.evidence is Evidence.PATCH_ID]
    assert sorted(by_patch_id) == sorted([first, second])


@pytest.mark.parametrize("name", ["größe.py", "a b.py", ":(top)x.py", "*.py", 'q"uote.py'])
def test_odd_file_names(project, name):
    path = f"task-sdk/{name}"
    add_series(project, Change("one", {path: "x = 1\n"}))
    tree = make_tree(project)
    commit(tree.git, {"task-sdk/other.py": "x = 1\n"}, message_for("one"))
    assert found(project, tree) == []
    at = commit(tree.git, {path: "x = 1\n"}, "Hold\n")
    assert [(one.evidence, one.commit) for one in found(project, tree)] == [
        (Evidence.REVERSE_APPLIES, None),
        (Evidence.PATCH_ID, at),
    ]


def test_only_commits_between_the_bases_count(project, tree):
    commit(tree.git, ONE.files, "Hold\n")
    old = commit(tree.git, {SCHEDULER: numbered("line")}, "Take it back\n")
    assert found(project, tree, old=old) == []


def test_a_merge_is_not_taken_for_the_change(project, tree):
    tree.git.run("checkout", "--quiet", "-b", "side")
    at = commit(tree.git, ONE.files, "Hold\n")
    tree.git.run("checkout", "--quiet", "launchguard")
    commit(tree.git, {"README.md": "x\n"}, "Other\n")
    tree.git.run("merge", "--quiet", "--no-ff", "--no-commit", "side")
    (tree.git.folder / SCHEDULER).write_text(numbered("line", _3='line_3 = "one"', _20="x = 20"))
    tree.git.run("commit", "--quiet", "--all", "-m", "Make one hold")
    assert [(one.evidence, one.commit) for one in found(project, tree)] == [
        (Evidence.REVERSE_APPLIES, None),
        (Evidence.PATCH_ID, at),
    ]


def test_a_non_ascii_subject_is_compared_as_text(project):
    subject = "Größere Änderungen halten → 発射, auch wenn der Betreff über die Zeile hinaus reicht und weiter"
    message = message_for("one").replace("Make one hold", subject)
    add_series(project, Change("one", ONE.files, message))
    tree = make_tree(project)
    at = commit(tree.git, {SCHEDULER: numbered("line", _3="x = 3")}, f"{subject} (#7)\n")
    assert [(one.evidence, one.commit) for one in found(project, tree)] == [(Evidence.SUBJECT, at)]


def test_looking_leaves_the_index_alone(project, tree):
    commit(tree.git, ONE.files, "Hold\n")
    before = tree.git.run("ls-files", "--stage").out
    found(project, tree)
    assert tree.git.run("ls-files", "--stage").out == before
    assert tree.git.changes() == []
