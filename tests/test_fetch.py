from __future__ import annotations

import contextlib
import json
import os
import pty
import random
import shutil
import signal
import subprocess
import sys
import time
from typing import TYPE_CHECKING

import pytest
from factories import (
    DEADLY_GIT,
    EXECUTOR,
    SOURCES,
    TRACK,
    Change,
    add_series,
    base_commit_of,
    commit,
    edit_track,
    invoke,
    launchguard,
    launchguard_environment,
    make_project,
    make_sdist,
    make_tree,
    numbered,
    replace_sdist,
    sdist_name,
    tree_of,
)
from fakeindex import Fault

from launchguard.gitcmd import init_repository
from launchguard.track import load_track

if TYPE_CHECKING:
    from pathlib import Path

    from fakeindex import Index

    from launchguard.project import Project

BASE = base_commit_of(TRACK, SOURCES)
CORE_FILE = sdist_name("core")
BIG = SOURCES | {"core": SOURCES["core"] | {"big": random.Random(1).randbytes(300_000)}}


@pytest.fixture
def remote(tmp_path: Path, index: Index) -> Project:
    """A project with an empty cache, whose sdists the index has."""
    project = make_project(tmp_path, cached=False)
    index.add(project.root / "sdists")
    return project


@pytest.mark.parametrize("html", [False, True], ids=["json", "html"])
def test_from_the_index_to_a_tree(html, remote, index):
    index.html = html
    ended = invoke("fetch", project=remote)
    folder = remote.tree(TRACK, "sdist")
    assert (ended.code, ended.out) == (0, f"{folder} at base {BASE[:12]}\n")
    assert (folder / EXECUTOR).read_text() == numbered("step")
    assert (folder / "airflow-core/scripts/start").stat().st_mode & 0o100
    assert len(tree_of(remote.cache)) == 4
    assert make_tree(remote).git.changes() == []


def test_json(remote):
    ended = invoke("fetch", "--json", project=remote)
    assert json.loads(ended.out) == {
        "folder": str(remote.tree(TRACK, "sdist")),
        "base": BASE,
        "source": "sdist",
        "preimages": [],
    }


def test_what_is_cached_works_offline(remote, index):
    invoke("fetch", project=remote)
    index.asked.clear()
    shutil.rmtree(remote.build / "trees")
    assert invoke("fetch", project=remote).code == 0
    assert index.asked == []


def test_a_tree_that_is_there_needs_no_cache(remote, index):
    invoke("fetch", project=remote)
    before = tree_of(remote.tree(TRACK, "sdist"))
    index.asked.clear()
    shutil.rmtree(remote.cache)
    assert invoke("fetch", project=remote).code == 0
    assert index.asked == []
    assert tree_of(remote.tree(TRACK, "sdist")) == before


def test_only_what_is_missing_is_asked_for(remote, index):
    invoke("fetch", project=remote)
    shutil.rmtree(remote.build / "trees")
    shutil.rmtree(remote.cache / "sdists" / load_track(remote, TRACK).part("core").sdist.sha256)
    index.asked.clear()
    assert invoke("fetch", project=remote).code == 0
    assert [one.path for one in index.asked] == ["/simple/apache-airflow-core/", f"/files/{CORE_FILE}"]


def wrong_size(project: Project, index: Index) -> str:
    edit_track(project, "size = ", "size = 1")
    return " bytes, its pin says 1"


def wrong_hash(project: Project, index: Index) -> str:
    for part in ("root", "core", "task-sdk", "provider"):
        pin = load_track(project, TRACK).part(part).sdist.sha256
        edit_track(project, pin, pin[::-1])
    return f"{sdist_name('root')} has SHA-256 "


def missing_version(project: Project, index: Index) -> str:
    del index.files[CORE_FILE]
    index.files["apache_airflow_core-9.tar.gz"] = b""
    return f" has no file {CORE_FILE} of apache-airflow-core; check the version in track.toml"


def missing_project(project: Project, index: Index) -> str:
    del index.files[CORE_FILE]
    return f"{index.url} has no apache-airflow-core; is it the right index?"


def always_cut(project: Project, index: Index) -> str:
    index.faults[CORE_FILE] += [Fault.TRUNCATE] * 9
    return f"download of {CORE_FILE} stopped at "


@pytest.mark.parametrize("fault", [wrong_size, wrong_hash, missing_version, missing_project, always_cut])
def test_what_cannot_be_had_is_one_clear_line_and_leaves_nothing(fault, remote, index):
    told = fault(remote, index)
    ended = invoke("fetch", project=remote)
    assert (ended.code, ended.out) == (1, "")
    *notes, error = ended.err.splitlines()
    assert error.startswith("error: ")
    assert told in error
    assert all(note.startswith("downloading ") for note in notes)
    good = {part.sdist.file for part in load_track(remote, TRACK).parts}
    assert {name.rpartition("/")[2] for name in tree_of(remote.cache)} <= good - {CORE_FILE}
    assert not (remote.build / "trees").exists()


def test_after_a_failed_download_the_next_try_goes_on(remote, index):
    index.faults[CORE_FILE] += [Fault.TRUNCATE] * 4
    assert invoke("fetch", project=remote).code == 1
    assert invoke("fetch", project=remote).code == 0


def test_a_damaged_file_in_the_cache_is_brought_again(remote, index):
    invoke("fetch", project=remote)
    shutil.rmtree(remote.build / "trees")
    (cached,) = remote.cache.glob(f"sdists/*/{CORE_FILE}")
    cached.write_bytes(b"damaged")
    assert invoke("fetch", project=remote).code == 0
    assert cached.read_bytes() == index.files[CORE_FILE]


@pytest.fixture
def stalled(tmp_path: Path, index: Index) -> Project:
    """A project whose download of the core stops half-way."""
    project = make_project(tmp_path, sources=BIG, cached=False)
    index.add(project.root / "sdists")
    index.faults[CORE_FILE] += [Fault.STALL]
    return project


def start_and_wait_for_half(project: Project, index: Index) -> tuple[subprocess.Popen[str], int]:
    process = subprocess.Popen(
        [sys.executable, "-m", "launchguard", "fetch"],
        env=launchguard_environment(project),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    for _ in range(2400):
        sizes = [path.stat().st_size for path in project.cache.glob(f"sdists/*/{CORE_FILE}.part")]
        if sizes and sizes[0] >= len(index.files[CORE_FILE]) // 2 - (1 << 16):
            return process, sizes[0]
        assert process.poll() is None, process.stderr.read()
        time.sleep(0.05)
    pytest.fail("no download within two minutes")


def test_a_download_goes_on_after_kill_9(stalled, index):
    process, got = start_and_wait_for_half(stalled, index)
    process.kill()
    process.communicate()
    index.asked.clear()
    assert invoke("fetch", project=stalled).code == 0
    assert [one.range for one in index.asked_for(CORE_FILE)] == [f"bytes={got}-"]
    assert not list(stalled.cache.rglob("*.part"))
    assert make_tree(stalled).base == base_commit_of(TRACK, BIG)


@pytest.mark.parametrize("sign", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_download_ends_with_130_and_goes_on_later(sign, stalled, index):
    process, got = start_and_wait_for_half(stalled, index)
    process.send_signal(sign)
    _, err = process.communicate(timeout=120)
    assert process.returncode == 130
    assert err.splitlines()[-1] == "interrupted"
    assert "Traceback" not in err
    index.asked.clear()
    assert invoke("fetch", project=stalled).code == 0
    assert [one.range for one in index.asked_for(CORE_FILE)] == [f"bytes={got}-"]


@pytest.mark.parametrize("word", ["init", "fast-import", "update-ref", "checkout"])
def test_after_kill_9_while_the_tree_is_made_the_next_run_makes_it(word, project, tmp_path):
    wrapper = tmp_path / "bin/git"
    wrapper.parent.mkdir()
    wrapper.write_text(DEADLY_GIT.format(git=shutil.which("git"), word=word))
    wrapper.chmod(0o755)
    ended = launchguard("fetch", project=project, PATH=f"{wrapper.parent}{os.pathsep}{os.environ['PATH']}")
    assert ended.code == -signal.SIGKILL
    folder = project.tree(TRACK, "sdist")
    assert not folder.exists()
    assert invoke("fetch", project=project).code == 0
    tree = make_tree(project)
    assert tree.base == BASE
    assert tree.git.changes() == []
    assert [path.name for path in folder.parent.iterdir()] == [folder.name]


def change_the_pin(project: Project) -> str:
    """Pin another provider, as when somebody mends track.toml; gives the new base commit."""
    sources = SOURCES | {"provider": SOURCES["provider"] | {"new.txt": "new\n"}}
    path = make_sdist(project.root / "changed" / sdist_name("provider"), sources["provider"])
    replace_sdist(project, "provider", path.read_bytes())
    new = base_commit_of(TRACK, sources)
    edit_track(project, BASE, new)
    return new


def test_a_tree_whose_pin_changed_gets_the_new_base(project):
    make_tree(project)
    new = change_the_pin(project)
    assert invoke("fetch", project=project).out.endswith(f"at base {new[:12]}\n")
    assert invoke("apply", project=project).code == 0
    tree = make_tree(project)
    assert (tree.base, tree.git.resolve("HEAD")) == (new, new)
    assert (tree.git.folder / "providers/cncf/kubernetes/new.txt").exists()


def test_a_tree_whose_pin_changed_takes_the_series_on_the_new_base(project):
    add_series(project, Change("one", {EXECUTOR: numbered("step", _3="x = 1")}))
    assert invoke("apply", project=project).code == 0
    new = change_the_pin(project)
    assert invoke("apply", project=project).code == 0
    tree = make_tree(project)
    assert tree.git.resolve("HEAD~1") == new
    assert (tree.git.folder / EXECUTOR).read_text() == numbered("step", _3="x = 1")


def test_work_in_a_tree_whose_pin_changed_is_kept(project):
    tree = make_tree(project)
    mine = commit(tree.git, {"mine.txt": "mine\n"}, "Mine\n")
    change_the_pin(project)
    assert invoke("fetch", project=project).code == 0
    assert tree.git.resolve("HEAD") == mine
    ended = invoke("apply", project=project)
    assert ended.code == 1
    assert "holds commits that " in ended.err


@pytest.mark.parametrize("damage", ["no repository", "broken repository"])
def test_what_is_no_tree_of_ours_is_refused_and_left_alone(damage, project):
    """Git would go on with a repository further up: the project's own, here."""
    outer = init_repository(project.root)
    commit(outer, {"README.md": "mine\n"}, "Mine\n")
    if damage == "broken repository":
        folder = make_tree(project).git.folder
        (folder / ".git/HEAD").unlink()
    else:
        folder = project.tree(TRACK, "sdist")
        folder.mkdir(parents=True)
        (folder / "notes.txt").write_text("mine")
    refs, files = outer.run("for-each-ref").text, tree_of(folder)
    ended = invoke("fetch", project=project)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err == f"error: {folder} is not a whole git repository; move it away, then run this again\n"
    assert (outer.run("for-each-ref").text, tree_of(folder)) == (refs, files)


def test_an_empty_folder_is_no_obstacle(project):
    project.tree(TRACK, "sdist").mkdir(parents=True)
    assert invoke("fetch", project=project).code == 0


@pytest.mark.parametrize("name", ["downloads", TRACK])
def test_a_second_launchguard_is_refused(name, remote):
    with remote.lock(name):
        ended = invoke("fetch", project=remote)
    assert ended.code == 1
    assert ended.err.splitlines()[-1] == f"error: another launchguard is working on {name}; wait for it to end"


def test_on_a_terminal_the_download_shows_how_far_it_is(remote, index):
    index.faults[CORE_FILE] += [Fault.TRUNCATE]
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "launchguard", "fetch"],
        env=launchguard_environment(remote, TERM="xterm"),
        stdout=subprocess.PIPE,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # a terminal's way to say that nobody writes any more
        while part := os.read(ours, 4096):
            shown += part
    os.close(ours)
    out, _ = process.communicate()
    assert process.returncode == 0
    assert out.decode() == f"{remote.tree(TRACK, 'sdist')} at base {BASE[:12]}\n"
    assert b"downloading" in shown
    assert b"making the source tree of Airflow 1.2.0" in shown
