from __future__ import annotations

import gzip
import tarfile
from typing import TYPE_CHECKING

import pytest
from factories import make_archive, make_sdist, tree_of

from launchguard.errors import LaunchguardError
from launchguard.unpack import SourceFile, read_sdist

if TYPE_CHECKING:
    from pathlib import Path


def plain(name: str, content: bytes = b"x", mode: int = 0o644) -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.mode = mode
    return member, content


def special(name: str, kind: bytes, target: str = "") -> tuple[tarfile.TarInfo, bytes]:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return member, b""


def refusal(path: Path) -> str:
    with pytest.raises(LaunchguardError) as caught:
        list(read_sdist(path))
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_files_come_relative_to_the_top_folder_with_content_and_mode(tmp_path):
    sdist = make_sdist(tmp_path / "a-1.tar.gz", {"b/c.py": "text", "start": b"\0"}, executable={"start"})
    assert list(read_sdist(sdist)) == [SourceFile("b/c.py", False, b"text"), SourceFile("start", True, b"\0")]


@pytest.mark.parametrize(
    ("mode", "executable"),
    [(0o644, False), (0o600, False), (0o666, False), (0o755, True), (0o700, True), (0o4755, True), (0o654, True)],
)
def test_modes_become_gits_two(mode, executable, tmp_path):
    sdist = make_archive(tmp_path / "a.tar.gz", [plain("a/f", mode=mode)])
    assert [file.executable for file in read_sdist(sdist)] == [executable]


def test_the_build_backends_record_is_left_out_at_the_top_only(tmp_path):
    sdist = make_sdist(tmp_path / "a.tar.gz", {"PKG-INFO": "x", "inner/PKG-INFO": "y", "f": "z"})
    assert [file.path for file in read_sdist(sdist)] == ["inner/PKG-INFO", "f"]


def test_folders_are_passed_over(tmp_path):
    sdist = make_archive(tmp_path / "a.tar.gz", [special("a", tarfile.DIRTYPE), plain("a/./b//f")])
    assert [file.path for file in read_sdist(sdist)] == ["b/f"]


@pytest.mark.parametrize("name", ["a/../../f", "../f", "/a/f", "a/.git/hooks/pre-commit", "a/.GIT/config", "a\\..\\f"])
def test_paths_that_leave_the_tree_are_refused(name, tmp_path):
    before = tree_of(tmp_path)
    sdist = make_archive(tmp_path / "in/a.tar.gz", [plain("a/good"), plain(name)])
    assert refusal(sdist) == f"a.tar.gz holds a path that leaves the tree: {name!r}; refused"
    (tmp_path / "in/a.tar.gz").unlink()
    assert tree_of(tmp_path) == before


@pytest.mark.parametrize(
    ("kind", "target"),
    [
        (tarfile.SYMTYPE, "/etc/passwd"),
        (tarfile.SYMTYPE, "good"),
        (tarfile.LNKTYPE, "a/good"),
        (tarfile.CHRTYPE, ""),
        (tarfile.BLKTYPE, ""),
        (tarfile.FIFOTYPE, ""),
    ],
)
def test_what_is_no_plain_file_is_refused(kind, target, tmp_path):
    sdist = make_archive(tmp_path / "a.tar.gz", [plain("a/good"), special("a/thing", kind, target)])
    assert refusal(sdist) == "a.tar.gz holds a/thing, which is no plain file; refused"


def test_two_top_folders_are_refused(tmp_path):
    sdist = make_archive(tmp_path / "a.tar.gz", [plain("a/f"), plain("b/f")])
    assert refusal(sdist) == "a.tar.gz has more than one top folder: a and b; refused"


def test_what_unpacks_to_too_much_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr("launchguard.unpack.MAX_BYTES", 100)
    sdist = make_sdist(tmp_path / "a.tar.gz", {"f": b"\0" * 60, "g": b"\0" * 60})
    assert refusal(sdist) == "a.tar.gz unpacks to more than 100 bytes; refused"


def no_such_block(content: bytes) -> bytes:
    """Follow one whole block of a gzip stream with one of a type that does not exist."""
    return content[:10] + b"\0\xff\xff\0\0" + gzip.decompress(content)[:0xFFFF] + b"\xff" * 100


TEXT = "".join(map(str, range(100_000)))


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[: len(content) // 2],
        lambda content: content[:-40],
        no_such_block,
        lambda content: b"hello",
        lambda content: gzip.compress(b"hello" * 300),
        lambda content: b"",
    ],
    ids=["half", "cut", "bits", "no gzip", "no tar", "empty"],
)
def test_a_damaged_archive_is_one_line(damage, tmp_path):
    sdist = make_sdist(tmp_path / "a.tar.gz", {"f": TEXT, "g": TEXT[::-1]})
    sdist.write_bytes(damage(sdist.read_bytes()))
    assert refusal(sdist).startswith("a.tar.gz is not a whole .tar.gz archive: ")


def test_a_name_that_is_no_utf8_keeps_its_bytes(tmp_path):
    sdist = make_archive(tmp_path / "a.tar.gz", [plain("a/caf\udce9")])
    assert [file.path for file in read_sdist(sdist)] == ["caf\udce9"]
