"""kill -9 in the middle of an apply, then apply again: it works, and nothing is lost."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest
from factories import EXECUTOR, SCHEDULER, commit, launchguard_environment, message_for, numbered
from series_factories import NEW, applied_tree, child, edit_patch, files_at, subjects, work_files

from launchguard.apply import apply
from launchguard.fetch import Tree
from launchguard.gitcmd import Git
from launchguard.project import Project
from launchguard.treestate import load_state

MINE = numbered("line", _20="mine = 1")

# Runs an apply in a fork once for each git command of it that writes and each record that it writes, each time
# killing it just before that.
KILLER = """
import os, shutil, signal, sys
from pathlib import Path
from launchguard.apply import apply
from launchguard.fetch import Tree
from launchguard.gitcmd import Git
from launchguard.project import Project
from launchguard.track import load_track

WRITING = {"worktree", "am", "commit-tree", "update-ref", "checkout", "clean"}
cases, template, force = Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3] == "force"
n = 0
while True:
    root = cases / f"{n:02}"
    shutil.copytree(template, root)
    project = Project(root)
    tree = Tree(load_track(project, "1.2.0"), "sdist", Git(project.tree("1.2.0", "sdist")))
    pid = os.fork()
    if pid == 0:
        count = 0
        def hook(event, arguments):
            global count
            record = event in {"open", "os.rename"} and "launchguard.new" in str(arguments[0])
            if record or (event == "subprocess.Popen" and WRITING & set(map(str, arguments[1]))):
                if count == n:
                    os.kill(os.getpid(), signal.SIGKILL)
                count += 1
        sys.addaudithook(hook)
        apply(project, tree, force=force)
        os._exit(0)
    if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0:
        break
    n += 1
print(n)
"""


def killed_applies(three, tmp_path, *, force=False):
    """Give the projects that an apply left, one for each step at which it was killed, and the last one unharmed."""
    steps = int(child(KILLER, tmp_path / "cases", three.root, "force" if force else ""))
    roots = sorted((tmp_path / "cases").iterdir())
    assert len(roots) == steps + 1
    assert steps > 10
    return [Project(root) for root in roots]


def tree_of(project, like):
    return Tree(like.track, "sdist", Git(project.tree("1.2.0", "sdist")))


def assert_good(project, tree, wanted):
    """Check that an apply ends well in a tree that a killed one left, and that its leftovers are gone."""
    applied = apply(project, tree)
    assert not applied.failed
    git = tree.git
    assert git.changes() == []
    assert git.line("symbolic-ref", "HEAD") == "refs/heads/launchguard"
    assert files_at(git) == wanted
    assert {path: git.run("hash-object", "--no-filters", path).text.strip() for path in (SCHEDULER, EXECUTOR)} == {
        path: wanted[path].split()[2] for path in (SCHEDULER, EXECUTOR)
    }
    assert load_state(git).moving == ""
    assert len(git.run("worktree", "list").text.splitlines()) == 1
    assert [path.name for path in git.folder.parent.iterdir()] == ["1.2.0"]
    assert apply(project, tree).unchanged
    return applied


def test_at_every_step(three, tmp_path):
    tree = applied_tree(three)
    edit_patch(three.track_folder("1.2.0") / "two.patch", '+step_5 = "two"', '+step_5 = "new"')
    *killed, whole = killed_applies(three, tmp_path)
    wanted = files_at(tree_of(whole, tree).git)
    assert wanted != files_at(tree.git)
    for project in killed:
        assert_good(project, tree_of(project, tree), wanted)


def test_at_every_step_of_a_forced_one_over_somebodys_work(three, tmp_path):
    tree = applied_tree(three)
    mine = commit(tree.git, {SCHEDULER: MINE}, message_for("mine"))
    (tree.git.folder / EXECUTOR).write_text("my work\n")
    (tree.git.folder / "task-sdk" / "notes.txt").write_text("my notes\n")
    for project in killed_applies(three, tmp_path, force=True)[:-1]:
        git = tree_of(project, tree).git
        there = work_files(git.folder)
        backups = git.run("for-each-ref", "--format=%(refname)", "refs/launchguard/backup").text.split()
        if backups:
            assert git.run("show", f"{backups[0]}:{EXECUTOR}").text == "my work\n"
            assert git.run("show", f"{backups[0]}:task-sdk/notes.txt").text == "my notes\n"
            assert git.resolve(f"{backups[0]}^") == mine
        else:
            assert there[EXECUTOR] == b"my work\n"
            assert there["task-sdk/notes.txt"] == b"my notes\n"
            assert git.resolve("HEAD") == mine
        assert not apply(project, tree_of(project, tree), force=True).failed
        assert git.changes() == []


# --- a real kill of git itself, with launchguard around it

SMUDGE = """#!/bin/sh
case "$PWD" in
    */{place}) [ ! -f "{flag}" ] || {{ rm "{flag}"; kill -9 0; }} ;;
esac
cat
"""


def kill_when_written(tree, tmp_path, place, path):
    """Have the whole process group killed when git writes `path` in the folder `place`, once."""
    script, flag = tmp_path / "smudge", tmp_path / "armed"
    script.write_text(SMUDGE.format(place=place, flag=flag))
    script.chmod(0o755)
    flag.touch()
    tree.git.run("config", "filter.kill.smudge", str(script))
    (tree.git.folder / ".git" / "info" / "attributes").write_text(f"{path} filter=kill\n")
    return flag


def run_and_be_killed(three, *words):
    ended = subprocess.run(
        (sys.executable, "-m", "launchguard", "apply", *words),
        check=False,
        env=launchguard_environment(three),
        start_new_session=True,
        timeout=60,
    )
    assert ended.returncode == -signal.SIGKILL


@pytest.mark.parametrize("path", [SCHEDULER, EXECUTOR, NEW])
def test_during_git_am(three, tmp_path, path):
    tree = applied_tree(three)
    edit_patch(three.track_folder("1.2.0") / "one.patch", "It did not.", "It never did.")
    wanted, before = files_at(tree.git), tree.git.resolve("HEAD")
    flag = kill_when_written(tree, tmp_path, ".1.2.0.am", path)
    run_and_be_killed(three)
    scratch = tree.git.folder.with_name(".1.2.0.am")
    assert not flag.exists()
    assert Git(scratch).open_operation() == "git am or rebase"
    assert (Git(scratch).git_folder / "index.lock").exists()
    assert tree.git.resolve("HEAD") == before
    assert tree.git.changes() == []
    assert_good(three, tree, wanted)
    assert len(subjects(tree)) == 3


@pytest.mark.parametrize("path", [SCHEDULER, EXECUTOR])
def test_during_the_move_of_the_branch(three, tmp_path, path):
    tree = applied_tree(three, until="one")
    whole = files_at(applied_tree(three).git)
    apply(three, tree, until="one")
    kill_when_written(tree, tmp_path, "1.2.0", path)
    run_and_be_killed(three)
    assert (tree.git.folder / ".git" / "index.lock").exists()
    assert load_state(tree.git).moving
    assert_good(three, tree, whole)


def test_a_tree_of_a_killed_move_is_told_of_by_status(three, tmp_path):
    from launchguard.status import status  # noqa: PLC0415

    tree = applied_tree(three, until="one")
    kill_when_written(tree, tmp_path, "1.2.0", EXECUTOR)
    run_and_be_killed(three)
    assert status(three, tree.track).tree.operation == "launchguard apply (interrupted; run it again)"
