from __future__ import annotations

import hashlib
import random
from typing import TYPE_CHECKING

import pytest
from factories import tree_of
from fakeindex import Fault, Index

from launchguard.download import CHUNK, cached_path, fetch_sdist, is_cached
from launchguard.errors import LaunchguardError
from launchguard.project import Project
from launchguard.track import Part, Sdist

if TYPE_CHECKING:
    from pathlib import Path

CONTENT = random.Random(1).randbytes(CHUNK * 3 + 1000)
FILE = "apache_airflow_core-1.2.0.tar.gz"
PART = Part(
    name="core",
    distribution="apache-airflow-core",
    version="1.2.0",
    sdist=Sdist(file=FILE, size=len(CONTENT), sha256=hashlib.sha256(CONTENT).hexdigest()),
    tag="1.2.0",
)


class Case:
    """A download into an empty cache."""

    def __init__(self, index: Index, root: Path) -> None:
        self.index = index
        self.project = Project(root)
        self.advances: list[int] = []
        index.files[FILE] = CONTENT

    @property
    def target(self) -> Path:
        return cached_path(self.project, PART.sdist)

    @property
    def partial(self) -> Path:
        return self.target.with_name(f"{FILE}.part")

    @property
    def ranges(self) -> list[str | None]:
        return [one.range for one in self.index.asked_for(FILE)]

    def leave(self, content: bytes) -> None:
        """Leave what a killed run leaves."""
        self.partial.parent.mkdir(parents=True, exist_ok=True)
        self.partial.write_bytes(content)

    def fetch(self) -> Path:
        return fetch_sdist(self.project, PART, self.advances.append)

    def good(self) -> bool:
        got = self.fetch()
        return got == self.target and tree_of(self.project.cache) == {f"sdists/{PART.sdist.sha256}/{FILE}": CONTENT}

    def refusal(self) -> str:
        with pytest.raises(LaunchguardError) as caught:
            self.fetch()
        assert tree_of(self.project.cache) == {}, "something half-written is left"
        assert "\n" not in str(caught.value)
        return str(caught.value)


@pytest.fixture
def case(index: Index, tmp_path: Path) -> Case:
    return Case(index, tmp_path)


def test_a_file_lands_in_the_cache_by_its_hash(case):
    assert case.good()
    assert case.ranges == [None]
    assert sum(case.advances) == len(CONTENT)


def test_a_cached_file_is_not_asked_for(case):
    case.fetch()
    case.index.asked.clear()
    case.advances.clear()
    assert case.good()
    assert case.index.asked == []
    assert sum(case.advances) == len(CONTENT)


@pytest.mark.parametrize("damaged", [b"", CONTENT[:-1], CONTENT[:-1] + b"x"])
def test_a_damaged_cached_file_is_replaced(damaged, case):
    case.fetch()
    case.target.write_bytes(damaged)
    assert not is_cached(case.project, PART.sdist)
    assert case.good()


def test_what_a_killed_run_left_is_gone_on_with(case):
    case.leave(CONTENT[:70_000])
    assert case.good()
    assert case.ranges == ["bytes=70000-"]
    assert sum(case.advances) == len(CONTENT)


def test_a_whole_file_that_a_killed_run_left_is_taken(case):
    case.leave(CONTENT)
    assert case.good()
    assert case.ranges == []


def test_without_ranges_it_starts_anew(case):
    case.index.ranges = False
    case.leave(CONTENT[:70_000])
    assert case.good()
    assert case.ranges == ["bytes=70000-"]
    assert sum(case.advances) == len(CONTENT)


def test_a_wrong_start_that_a_killed_run_left_is_thrown_away(case):
    case.leave(b"x" * 70_000)
    assert "its pin says" in case.refusal()
    assert case.good()


def test_a_cut_download_is_gone_on_with(case):
    case.index.faults[FILE] += [Fault.TRUNCATE, Fault.TRUNCATE]
    assert case.good()
    half = len(CONTENT) // 2
    assert case.ranges[0] is None
    assert all(int(asked.strip("bytes=-")) > 0 for asked in case.ranges[1:])
    assert int(case.ranges[1].strip("bytes=-")) <= half < int(case.ranges[2].strip("bytes=-"))
    assert sum(case.advances) == len(CONTENT)


def test_a_download_that_is_always_cut(case):
    case.index.faults[FILE] += [Fault.TRUNCATE] * 9
    told = case.refusal()
    assert told.startswith(f"download of {FILE} stopped at ")
    assert f" of {len(CONTENT)} bytes: " in told
    assert told.endswith("; try again")


def test_a_server_error_is_tried_again(case):
    case.index.faults[FILE] += [Fault.ERROR]
    assert case.good()


def test_a_listed_file_that_is_gone(case):
    case.index.faults[FILE] += [Fault.MISSING] * 9
    assert case.refusal().startswith(f"download of {FILE} stopped at 0 of {len(CONTENT)} bytes: 404 Client Error")


@pytest.mark.parametrize("lengths", [True, False], ids=["told", "untold"])
@pytest.mark.parametrize("left", [b"", CONTENT[:1000]], ids=["new", "resumed"])
def test_a_longer_file_than_pinned(left, lengths, case):
    case.index.lengths = lengths
    case.index.files[FILE] = CONTENT + b"x" * CHUNK * 3
    if left:
        case.leave(left)
    told = case.refusal()
    assert sum(case.advances) <= (len(left) if lengths else len(CONTENT)), "more was taken than needed to tell"
    assert told.startswith(f"{FILE} has ")
    assert told.endswith(f" bytes, its pin says {len(CONTENT)}; check track.toml or the index")


@pytest.mark.parametrize("lengths", [True, False], ids=["told", "untold"])
def test_a_shorter_file_than_pinned(lengths, case):
    case.index.lengths = lengths
    case.index.files[FILE] = CONTENT[:5000]
    told = f"{FILE} has 5000 bytes, its pin says {len(CONTENT)}; check track.toml or the index"
    assert case.refusal() == told
    case.leave(CONTENT[:5000])
    assert case.refusal() == told


def test_other_bytes_than_pinned(case):
    other = CONTENT[:-1] + bytes([CONTENT[-1] ^ 1])
    case.index.files[FILE] = other
    assert case.refusal() == (
        f"{FILE} has SHA-256 {hashlib.sha256(other).hexdigest()}, its pin says {PART.sdist.sha256}; "
        "check track.toml or the index"
    )


def test_the_password_of_the_index_is_used_for_files_and_never_told(case, monkeypatch):
    monkeypatch.setenv("UV_DEFAULT_INDEX", case.index.url.replace("://", "://me:secret@"))
    case.index.faults[FILE] += [Fault.MISSING] * 9
    assert "secret" not in case.refusal()
    assert all(one.authorization for one in case.index.asked)
