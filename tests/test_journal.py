from __future__ import annotations

import json

import pytest
from factories import SCHEDULER, commit, launchguard, message_for, numbered
from series_factories import applied_tree, child, series_bytes

from launchguard import journal
from launchguard.apply import apply
from launchguard.fetch import Tree
from launchguard.gitcmd import Git
from launchguard.project import Project
from launchguard.refresh import refresh
from launchguard.series import read_series

OLD = {"series": b"a\nb\nc\n", "a.patch": b"old a", "b.patch": b"old b", "c.patch": b"old c"}
NEW = {"series": b"d\na\nc\n", "a.patch": b"new a", "c.patch": b"old c", "d.patch": b"new d"}
STEP = {**NEW, "b.patch": None}

# Runs a function in a fork for each of its steps in a folder (open, rename, remove, ...), each time killing it
# with SIGKILL just before the n-th one; files opened for writing are left empty, as a torn write would leave them.
KILLER = """
import os, shutil, signal, sys
from pathlib import Path

def kill_at_every_step(cases, template, function):
    n = 0
    while True:
        folder = cases / f"{n:02}"
        shutil.copytree(template, folder)
        pid = os.fork()
        if pid == 0:
            count, busy = 0, False
            def hook(event, arguments):
                nonlocal count, busy
                if busy or event not in STEPS or not any(f"{folder}{BELOW}" in str(one) for one in arguments):
                    return
                if event == "open" and ONLY_CHANGES and "w" not in str(arguments[1]):
                    return
                if count == n:
                    busy = True
                    if event == "open" and "w" in str(arguments[1]):
                        open(arguments[0], "w").close()
                    os.kill(os.getpid(), signal.SIGKILL)
                count += 1
            sys.addaudithook(hook)
            function(folder)
            os._exit(0)
        if os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0:
            break
        n += 1
    print(n)

STEPS = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir", "os.scandir", "os.listdir", "shutil.rmtree"}
BELOW, ONLY_CHANGES = "", False
"""
WRITE = """
import json
from launchguard import journal
files = {name: content and content.encode() for name, content in json.loads(sys.argv[3]).items()}
kill_at_every_step(Path(sys.argv[1]), Path(sys.argv[2]), lambda folder: journal.write(folder, files))
"""


def make(folder, files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def killed_writes(tmp_path, files):
    """Give the folders that a write of `STEP` left, one for each step at which it was killed."""
    template = make(tmp_path / "template", files)
    text = json.dumps({name: content and content.decode() for name, content in STEP.items()})
    steps = int(child(KILLER + WRITE, tmp_path / "cases", template, text))
    folders = sorted((tmp_path / "cases").iterdir())
    assert len(folders) == steps + 1
    return folders


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


class TestKilledAtEveryStep:
    def test_the_next_run_finds_all_or_nothing(self, tmp_path):
        folders = killed_writes(tmp_path, OLD)
        ends = []
        for folder in folders:
            journal.recover(folder)
            assert not (folder / ".refresh").exists()
            ends.append(contents(folder))
        assert all(end in (OLD, NEW) for end in ends)
        decided = ends.index(NEW)
        assert all(end == OLD for end in ends[:decided])
        assert all(end == NEW for end in ends[decided:])
        assert 8 < decided < len(ends) - 8, "both halves of the step have been killed in"

    def test_a_reader_finds_all_or_nothing_too(self, tmp_path):
        for folder in killed_writes(tmp_path, OLD):
            slugs = read_series(folder)
            assert contents(folder) in (OLD, NEW)
            assert slugs == (folder / "series").read_text().split()

    def test_writing_again_gets_there_from_wherever_it_stopped(self, tmp_path):
        for folder in killed_writes(tmp_path, OLD):
            journal.write(folder, STEP)
            assert contents(folder) == NEW
            assert not (folder / ".refresh").exists()

    def test_writing_something_else_afterwards_builds_on_a_decided_step(self, tmp_path):
        for folder in killed_writes(tmp_path, OLD):
            decided = (folder / ".refresh" / "commit").exists() or contents(folder) == NEW
            journal.write(folder, {"e.patch": b"e"})
            assert contents(folder) == (NEW if decided else OLD) | {"e.patch": b"e"}

    def test_a_recovery_that_is_killed_at_every_step_can_be_done_again(self, tmp_path):
        template = make(tmp_path / "template", OLD)
        aside = make(template / ".refresh", {"a.patch": b"new a", "d.patch": b"new d", "series": NEW["series"]})
        step = journal.Step(moved=("d.patch", "a.patch", "series"), removed=("b.patch",))
        (aside / "commit").write_bytes(journal.msgspec.json.encode(step))
        code = (
            "from launchguard import journal\nkill_at_every_step(Path(sys.argv[1]), Path(sys.argv[2]), journal.recover)"
        )
        assert int(child(KILLER + code, tmp_path / "cases", template)) > 8
        for folder in (tmp_path / "cases").iterdir():
            journal.recover(folder)
            assert contents(folder) == NEW


class TestWrite:
    def test_writes_removes_and_leaves_nothing_behind(self, tmp_path):
        journal.write(make(tmp_path, OLD), STEP)
        assert contents(tmp_path) == NEW
        assert sorted(path.name for path in tmp_path.iterdir()) == sorted(NEW)

    def test_files_with_the_same_content_are_not_touched(self, tmp_path):
        make(tmp_path, OLD)
        before = (tmp_path / "c.patch").stat()
        journal.write(tmp_path, STEP)
        after = (tmp_path / "c.patch").stat()
        assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)

    def test_an_empty_file_is_content(self, tmp_path):
        journal.write(tmp_path, {"a": b""})
        assert contents(tmp_path) == {"a": b""}

    def test_removing_what_is_not_there(self, tmp_path):
        journal.write(tmp_path, {"a": None})
        assert contents(tmp_path) == {}

    def test_other_files_stay(self, tmp_path):
        make(tmp_path / "lanes", {"head.txt": b"x"})
        journal.write(make(tmp_path, OLD | {"track.toml": b"t"}), STEP)
        assert contents(tmp_path) == NEW | {"track.toml": b"t"}
        assert (tmp_path / "lanes" / "head.txt").exists()

    def test_a_write_that_fails_before_it_is_decided_changes_nothing(self, tmp_path, monkeypatch):
        make(tmp_path, OLD)
        monkeypatch.setattr(type(tmp_path), "rename", self.fail)
        with pytest.raises(OSError, match="disk full"):
            journal.write(tmp_path, STEP)
        monkeypatch.undo()
        journal.recover(tmp_path)
        assert contents(tmp_path) == OLD

    @staticmethod
    def fail(*_):
        raise OSError("disk full")


class TestReaders:
    def test_leave_an_undecided_step_of_a_living_writer_alone(self, tmp_path):
        make(tmp_path, OLD)
        make(tmp_path / ".refresh", {"a.patch": b"new a", "step": b"{}"})
        assert read_series(tmp_path) == ["a", "b", "c"]
        assert (tmp_path / ".refresh" / "step").exists()

    def test_another_process_may_finish_the_same_step_meanwhile(self, tmp_path, monkeypatch):
        make(tmp_path, OLD)
        aside = make(tmp_path / ".refresh", {"a.patch": b"new a", "d.patch": b"new d", "series": NEW["series"]})
        step = journal.Step(moved=("a.patch", "d.patch", "series"), removed=("b.patch",))
        (aside / "commit").write_bytes(journal.msgspec.json.encode(step))
        decode = journal.msgspec.json.decode

        def decode_and_be_late(content, **words):
            decoded = decode(content, **words)
            monkeypatch.undo()
            journal.finish(tmp_path)
            return decoded

        monkeypatch.setattr(journal.msgspec.json, "decode", decode_and_be_late)
        journal.finish(tmp_path)
        assert contents(tmp_path) == NEW


# --- the whole command, killed at every step in the patches' folder

REFRESH = """
from launchguard.fetch import Tree
from launchguard.gitcmd import Git
from launchguard.project import Project
from launchguard.refresh import refresh
from launchguard.track import load_track

def run(root):
    project = Project(root)
    tree = Tree(load_track(project, "1.2.0"), "sdist", Git(project.tree("1.2.0", "sdist")))
    refresh(project, tree)

STEPS -= {"os.scandir", "os.listdir", "shutil.rmtree"}
BELOW, ONLY_CHANGES = sys.argv[3], True
kill_at_every_step(Path(sys.argv[1]), Path(sys.argv[2]), run)
"""


def changed_tree(three):
    """Give the tree with one patch changed, one dropped and one new; not refreshed."""
    tree = applied_tree(three)
    git = tree.git
    third = git.resolve("HEAD")
    git.run("reset", "--quiet", "--hard", "HEAD~2")
    text = git.run("log", "-1", "--format=%B").text.replace("It did not.", "It never did.")
    git.run("commit", "--quiet", "--amend", "--file=-", stdin=text.encode())
    git.run("cherry-pick", third)
    commit(git, {SCHEDULER: numbered("line", _3='line_3 = "one"', _30="four = 4")}, message_for("four"))
    return tree


# In the patches' folder, and for the record that says which of them the tree has.
@pytest.mark.parametrize(("below", "least"), [("/patches/", 8), ("/build/trees/1.2.0/.git/launchguard.", 2)])
def test_a_refresh_killed_at_every_step_loses_nothing(three, tmp_path, below, least):
    tree = changed_tree(three)
    old = series_bytes(three.track_folder("1.2.0"))
    steps = int(child(KILLER + REFRESH, tmp_path / "cases", three.root, below))
    assert steps >= least
    roots = sorted((tmp_path / "cases").iterdir())
    new = series_bytes(Project(roots[-1]).track_folder("1.2.0"))
    assert (new["series"], sorted(new)) == (b"one\nthree\nfour\n", ["four.patch", "one.patch", "series", "three.patch"])
    seen = set()
    for root in roots:
        project = Project(root)
        folder = project.track_folder("1.2.0")
        killed = Tree(tree.track, "sdist", Git(project.tree("1.2.0", "sdist")))
        read_series(folder)
        assert series_bytes(folder) in (old, new)
        seen.add(series_bytes(folder) == new)
        assert refresh(project, killed).removed in {("two",), ()}
        assert series_bytes(folder) == new
        assert apply(project, killed).unchanged
    assert seen == ({True, False} if below == "/patches/" else {True})


def test_every_command_that_reads_the_series_finishes_an_interrupted_refresh(three):
    folder = three.track_folder("1.2.0")
    aside = make(folder / ".refresh", {"series": b"one\n"})
    step = journal.Step(moved=("series",), removed=("two.patch", "three.patch"))
    (aside / "commit").write_bytes(journal.msgspec.json.encode(step))
    status = json.loads(launchguard("status", "--json", project=three).out)
    assert [patch["slug"] for patch in status["patches"]] == ["one"]
    assert sorted(series_bytes(folder)) == ["one.patch", "series"]
