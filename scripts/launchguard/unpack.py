"""Reads an sdist as data: paths, modes and bytes, none of which may leave the tree."""

from __future__ import annotations

import tarfile
import zlib
from dataclasses import dataclass
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from launchguard.errors import LaunchguardError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

# Written by the build backend, absent from git: leaving it out keeps the two kinds of source equal.
LEFT_OUT = frozenset({"PKG-INFO"})
MAX_BYTES = 1 << 30


@dataclass(frozen=True)
class SourceFile:
    """One file of a tree; the mode is one of git's two."""

    path: str
    executable: bool
    content: bytes


def read_sdist(path: Path) -> Iterator[SourceFile]:
    """Give the files of an sdist, relative to its single top folder.

    Raises:
        LaunchguardError: not a whole archive, or a member that is no plain file inside the top folder.
    """
    try:
        with tarfile.open(path, "r:gz") as archive:
            yield from _members(archive, path.name)
    except (tarfile.TarError, EOFError, OSError, zlib.error) as error:
        raise LaunchguardError(f"{path.name} is not a whole .tar.gz archive: {error}") from error


def _members(archive: tarfile.TarFile, name: str) -> Iterator[SourceFile]:
    top: str | None = None
    total = 0
    for member in archive:
        parts = _safe_parts(member.name, name)
        top = top or parts[0]
        if parts[0] != top:
            raise LaunchguardError(f"{name} has more than one top folder: {top} and {parts[0]}; refused")
        if member.isdir():
            continue
        if not member.isreg():
            raise LaunchguardError(f"{name} holds {member.name}, which is no plain file; refused")
        total += member.size
        if total > MAX_BYTES:
            raise LaunchguardError(f"{name} unpacks to more than {MAX_BYTES} bytes; refused")
        inner = "/".join(parts[1:])
        file = archive.extractfile(member)
        if inner and inner not in LEFT_OUT and file is not None:
            yield SourceFile(inner, bool(member.mode & 0o111), file.read())


def _safe_parts(member: str, name: str) -> tuple[str, ...]:
    path = PurePosixPath(member)
    inside = not path.is_absolute() and path.parts and not {"..", ".git"} & {part.lower() for part in path.parts}
    if not inside or "\\" in member:
        raise LaunchguardError(f"{name} holds a path that leaves the tree: {member!r}; refused")
    return path.parts
