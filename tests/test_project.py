from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest
from factories import TRACK, add_track

from launchguard.errors import LaunchguardError
from launchguard.project import Project, find_project

HOLD = """
import sys, time
from pathlib import Path
from launchguard.project import Project
with Project(Path(sys.argv[1])).lock("thing"):
    print("held", flush=True)
    time.sleep(60)
"""


def test_folders():
    project = Project(Path("/p"))
    assert project.tree("1.2.0", "sdist") == Path("/p/build/trees/1.2.0")
    assert project.tree("1.2.0", "git") == Path("/p/build/trees/1.2.0-git")
    assert project.track_folder("1.2.0") == Path("/p/patches/1.2.0")
    assert (project.cache, project.report) == (Path("/p/build/cache"), Path("/p/build/report"))


@pytest.mark.parametrize(("named", "build"), [("/elsewhere", "/elsewhere"), ("out", "/p/out"), ("", "/p/build")])
def test_the_build_folder_can_be_named(named, build, monkeypatch):
    monkeypatch.setenv("LAUNCHGUARD_BUILD", named)
    assert Project(Path("/p")).build == Path(build)


def test_tracks_are_folders_with_a_track_file(project):
    add_track(project, "1.10.0")
    (project.patches / "notes").mkdir()
    assert project.tracks() == ["1.10.0", TRACK]


def test_the_project_is_found_upwards(project, monkeypatch):
    inside = project.root / "a/b"
    inside.mkdir(parents=True)
    monkeypatch.chdir(inside)
    assert find_project() == project


def test_the_environment_names_the_project_first(project, tmp_path, monkeypatch):
    other = Project(tmp_path / "other")
    add_track(other, TRACK)
    monkeypatch.chdir(project.root)
    monkeypatch.setenv("LAUNCHGUARD_ROOT", str(other.root))
    assert find_project() == other


def test_a_named_folder_without_tracks_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("LAUNCHGUARD_ROOT", str(tmp_path))
    with pytest.raises(LaunchguardError, match="run this inside a launchguard checkout"):
        find_project()


def test_elsewhere_the_project_is_the_codes_own():
    assert find_project().root == Path(__file__).resolve().parents[1]


def test_a_second_holder_of_a_lock_is_refused_until_the_first_lets_go(project):
    refused = []

    def try_it() -> None:
        try:
            with project.lock("thing"):
                pass
        except LaunchguardError as error:
            refused.append(str(error))

    with project.lock("thing"):
        thread = threading.Thread(target=try_it)
        thread.start()
        thread.join()
    try_it()
    assert refused == ["another launchguard is working on thing; wait for it to end"]


def test_a_killed_holder_does_not_keep_its_lock(project):
    holder = subprocess.Popen([sys.executable, "-c", HOLD, project.root], stdout=subprocess.PIPE)
    assert holder.stdout.readline() == b"held\n"
    with pytest.raises(LaunchguardError, match="another launchguard"), project.lock("thing"):
        pass
    holder.send_signal(signal.SIGKILL)
    holder.communicate()
    with project.lock("thing"):
        pass


def test_locks_of_other_things_do_not_matter(project):
    with project.lock("one"), project.lock("other"):
        pass
