from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from factories import EXECUTOR, SCHEDULER, commit, make_tree, tree_of

from launchguard.snapshot import export_tree, work_tree_id

if TYPE_CHECKING:
    from launchguard.fetch import Tree
    from launchguard.gitcmd import Git
    from launchguard.project import Project


def tree_id(git: Git, revision: str) -> str:
    return git.line("rev-parse", f"{revision}^{{tree}}")


@pytest.fixture
def tree(project: Project) -> Tree:
    return make_tree(project)


def status(tree: Tree) -> str:
    return tree.git.run("status", "--porcelain").text


def test_an_unchanged_work_tree_is_its_commits_tree(tree):
    assert work_tree_id(tree.git) == tree_id(tree.git, "HEAD") == tree_id(tree.git, tree.base)


def test_changes_committed_or_not_make_the_same_id(tree):
    (tree.git.folder / EXECUTOR).write_text("changed\n")
    (tree.git.folder / "new.txt").write_text("new\n")
    (tree.git.folder / SCHEDULER).unlink()
    before = work_tree_id(tree.git)
    assert before != tree_id(tree.git, "HEAD")
    commit(tree.git, {}, "All of it\n")
    assert work_tree_id(tree.git) == before == tree_id(tree.git, "HEAD")


def test_the_users_index_stays_as_it_is(tree):
    (tree.git.folder / EXECUTOR).write_text("staged\n")
    tree.git.run("add", EXECUTOR)
    (tree.git.folder / EXECUTOR).write_text("not staged\n")
    (tree.git.folder / "new.txt").write_text("new\n")
    before = status(tree)
    found = tree.git.run("cat-file", "blob", f"{work_tree_id(tree.git)}:{EXECUTOR}").text
    assert (found, status(tree)) == ("not staged\n", before)


def test_what_tests_leave_behind_is_not_in_it(tree):
    before = work_tree_id(tree.git)
    (tree.git.folder / "airflow-core/__pycache__").mkdir()
    (tree.git.folder / "airflow-core/__pycache__/x.pyc").write_bytes(b"x")
    assert work_tree_id(tree.git) == before


def test_what_a_killed_git_left_is_no_obstacle(tree):
    before = work_tree_id(tree.git)
    for name in ("index.lock", "launchguard-snapshot-index.lock"):
        (tree.git.folder / ".git" / name).touch()
    assert work_tree_id(tree.git) == before


def test_an_export_has_every_file_and_nothing_else(project, tree):
    commit(tree.git, {".gitattributes": "*.yaml export-ignore\n* text eol=crlf\n", "a/b.bin": b"\0\xff"}, "More\n")
    folder = export_tree(project, tree.git, "HEAD")
    names = set(tree.git.run("ls-tree", "-r", "--name-only", "HEAD").text.splitlines())
    assert set(tree_of(folder)) == names
    assert (folder / "a/b.bin").read_bytes() == b"\0\xff"
    assert (folder / "airflow-core/scripts/start").stat().st_mode & 0o100
    assert folder.parent == project.build / "snapshots"


def test_an_export_is_made_once_for_each_content(project, tree):
    folder = export_tree(project, tree.git, "HEAD")
    (folder / "mark").touch()
    commit(tree.git, {}, "The same content\n")
    assert export_tree(project, tree.git, "HEAD") == folder
    assert (folder / "mark").exists()
    commit(tree.git, {"new.txt": "new\n"}, "Another\n")
    other = export_tree(project, tree.git, "HEAD")
    assert other != folder
    assert not (other / "mark").exists()


def test_an_export_takes_a_tree_too(project, tree):
    (tree.git.folder / "new.txt").write_text("new\n")
    assert (export_tree(project, tree.git, work_tree_id(tree.git)) / "new.txt").read_text() == "new\n"


def test_what_a_killed_export_left_is_made_anew(project, tree):
    name = tree_id(tree.git, "HEAD")[:16]
    aside = project.build / "snapshots" / f".{name}.new"
    aside.mkdir(parents=True)
    (aside / "half").touch()
    folder = export_tree(project, tree.git, "HEAD")
    assert "half" not in tree_of(folder)
    assert not aside.exists()
