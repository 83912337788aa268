from __future__ import annotations

from pathlib import Path

import pytest
from factories import TRACK, add_track, edit_track

from launchguard.errors import LaunchguardError
from launchguard.project import Project
from launchguard.track import CORE, PROVIDER, load_track, parse_track

NOTES = """
[[deselected]]
suite = "provider"
test = "tests/unit/test_executor.py::test_executor"
reason = "needs a cluster"
lanes = ["head"]

[[known_failures]]
suite = "task-sdk"
test = "tests/test_sdk.py::test_sdk"
reason = "fails upstream"
"""


def test_a_track_file_is_read_whole(project):
    track = load_track(project, TRACK)
    assert (track.name, [part.name for part in track.parts]) == (TRACK, ["root", "core", "task-sdk", "provider"])
    assert track.part(PROVIDER).folder == "providers/cncf/kubernetes"
    assert track.part(CORE).tag == TRACK
    assert track.part(CORE).commit is None
    assert track.lane_names() == ["head"]


def test_a_note_covers_its_suite_on_its_lanes_or_on_all(project):
    path = project.track_folder(TRACK) / "track.toml"
    path.write_text(path.read_text() + NOTES)
    track = load_track(project, TRACK)
    (here,), (everywhere,) = track.deselected, track.known_failures
    assert here.covers("head", "provider")
    assert not here.covers("other", "provider")
    assert not here.covers("head", "task-sdk")
    assert everywhere.covers("any", "task-sdk")


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('name = "1.2.0"\n', 'name = "1.2.1"\n', "name is '1.2.1' but its folder is '1.2.0'"),
        ('name = "provider"', 'name = "core"', "parts are root, core, task-sdk, core; wanted root, core, task-sdk, p"),
        ("size = ", 'size = "x" # ', "Expected `int`, got `str` - at `$.parts[0].sdist.size`"),
        ('sha256 = "', 'sha256 = "X', "part core: sha256 is not 64 lower-case hex digits"),
        ('patched = ["core"', 'patched = ["kernel"', "lane head: unknown parts kernel"),
        ("packages_until", "packages_till", "unknown field `packages_till`"),
        ('python = ">=3.11"', "python = ", "line 2"),
        (f'tag = "{TRACK}"', 'tag = "x"\ncommit = "abc"', "part core: commit is not a full id of 40 hex digits"),
    ],
)
def test_a_fault_is_told_with_its_place(project, old, new, told):
    edit_track(project, old, new)
    with pytest.raises(LaunchguardError) as caught:
        load_track(project, TRACK)
    assert told in str(caught.value)
    assert str(project.track_folder(TRACK) / "track.toml") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_faults_are_told_at_once(project):
    edit_track(project, 'sha256 = "', 'sha256 = "X')
    edit_track(project, 'patched = ["core"', 'patched = ["kernel"')
    with pytest.raises(LaunchguardError) as caught:
        load_track(project, TRACK)
    assert str(caught.value).count("sha256 is not") == 4
    assert "unknown parts kernel" in str(caught.value)


def test_bytes_that_are_no_text_are_a_fault(project):
    (project.track_folder(TRACK) / "track.toml").write_bytes(b'name = "\xff"')
    with pytest.raises(LaunchguardError, match=r"track\.toml: .*utf-8"):
        load_track(project, TRACK)


def test_an_unknown_track_names_those_that_are_there(project):
    add_track(project, "1.3.0")
    with pytest.raises(LaunchguardError, match=r"there is no track '9'; tracks here: 1\.2\.0, 1\.3\.0$"):
        load_track(project, "9")
    with pytest.raises(LaunchguardError, match="tracks here: none"):
        load_track(Project(project.root / "empty"), "9")


def test_an_unknown_lane_names_those_that_are_there(project):
    with pytest.raises(LaunchguardError, match=r"track 1\.2\.0 has no lane 'tail'; it has head"):
        load_track(project, TRACK).lane("tail")


RELEASE = """
[[releases]]
name = "later"
python = "3.11"
airflow = "1.3.0"
packages_until = "2026-02-01T00:00:00Z"
"""


def test_other_releases_are_no_lanes(project):
    path = project.track_folder(TRACK) / "track.toml"
    path.write_text(path.read_text() + RELEASE)
    track = load_track(project, TRACK)
    assert track.release("later").packages_until == "2026-02-01T00:00:00Z"
    assert track.lane_names() == ["head"]
    with pytest.raises(LaunchguardError, match=r"has no other release 'tail'; it has later"):
        track.release("tail")
    path.write_text(path.read_text() + 'suites = ["series"]\n')
    with pytest.raises(LaunchguardError, match="release later: a release has neither patched parts nor suites"):
        load_track(project, TRACK)


@pytest.mark.parametrize(
    "path", sorted(Path(__file__).resolve().parents[1].glob("patches/*/track.toml")), ids=lambda path: path.parent.name
)
def test_the_real_tracks_are_good(path):
    track = parse_track(path)
    assert track.lanes
    assert all(part.sdist.file.endswith(f"-{part.version}.tar.gz") for part in track.parts)
