"""Locks from a real index."""

from __future__ import annotations

import pytest
from factories import TRACK

from launchguard.errors import LaunchguardError
from launchguard.lock import lock_lane, lock_path
from launchguard.track import load_track


@pytest.fixture
def lane(project):
    track = load_track(project, TRACK)
    lock_path(project, track, track.lanes[0]).parent.mkdir()
    return track, track.lanes[0]


@pytest.mark.network
def test_a_lock_has_hashes_and_nothing_newer_than_the_tracks_day(project, lane):
    path = lock_path(project, *lane)
    path.with_suffix(".in").write_text("packaging  # small\n")
    assert lock_lane(project, *lane) is True
    text = path.read_text()
    assert "packaging==26." in text
    assert "--hash=sha256:" in text
    assert "://" not in text
    assert lock_lane(project, *lane) is False


@pytest.mark.network
def test_what_cannot_be_solved_says_why_and_leaves_no_lock(project, lane):
    path = lock_path(project, *lane)
    path.with_suffix(".in").write_text("packaging==24.0\npackaging==25.0\n")
    with pytest.raises(LaunchguardError, match="packaging"):
        lock_lane(project, *lane)
    assert not path.exists()


def test_a_lane_without_an_in_file_says_which(project, lane):
    with pytest.raises(LaunchguardError, match=r"head\.in"):
        lock_lane(project, *lane)
