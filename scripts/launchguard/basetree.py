"""Turns the pinned sdists into one git commit in monorepo layout, with the same id on every machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launchguard.download import cached_path
from launchguard.errors import LaunchguardError
from launchguard.gitcmd import EMAIL, IDENTITY
from launchguard.unpack import SourceFile, read_sdist

if TYPE_CHECKING:
    from launchguard.gitcmd import Git
    from launchguard.project import Project
    from launchguard.track import Part, Track

BASE_REF = "refs/launchguard/base"
# Where a commit stands until it is known to be the pinned one.
INCOMING_REF = "refs/launchguard/incoming"
# 2026-01-01T00:00:00Z: part of the base commit's id, so it never changes.
EPOCH = 1767225600


def import_base(git: Git, project: Project, track: Track) -> str:
    """Write the base commit of a track from its cached sdists.

    Args:
        git: the repository that takes it, under `refs/launchguard/base`.
        project: whose cache holds the sdists.
        track: the pin.

    Returns:
        The commit's full id.

    Raises:
        LaunchguardError: an sdist is unsafe or damaged, or the commit is not the pinned one; the
            repository's base is what it was then.
    """
    files = _layout(project, track)
    git.run("fast-import", "--quiet", "--force", stdin=_stream(track, files))
    commit = git.line("rev-parse", "--verify", INCOMING_REF)
    git.run("update-ref", "-d", INCOMING_REF)
    if commit != track.base_commit:
        raise LaunchguardError(
            f"the sources give base commit {commit}, the pin says {track.base_commit}; "
            f"if the sdists of track {track.name} were changed on purpose, set base_commit in its track.toml"
        )
    git.run("update-ref", BASE_REF, commit)
    return commit


def _layout(project: Project, track: Track) -> dict[str, SourceFile]:
    files: dict[str, SourceFile] = {}
    for part in track.parts:
        for file in read_sdist(cached_path(project, part.sdist)):
            path = _place(part, file.path)
            if files.get(path, file).content != file.content:  # built sdists do name some files twice
                raise LaunchguardError(f"the sdists of track {track.name} bring different {path}; refused")
            files[path] = file
    return files


def _place(part: Part, path: str) -> str:
    return path if part.folder == "." else f"{part.folder}/{path}"


def _stream(track: Track, files: dict[str, SourceFile]) -> bytes:
    versions = ", ".join(f"{part.distribution} {part.version}" for part in track.parts)
    message = f"Airflow {track.name} from its sdists\n\n{versions}\n".encode()
    who = f"{IDENTITY} <{EMAIL}> {EPOCH} +0000".encode()
    chunks = [
        b"commit %s\nauthor %s\ncommitter %s\n" % (INCOMING_REF.encode(), who, who),
        b"data %d\n%s\n" % (len(message), message),
    ]
    for path, file in sorted(files.items()):
        mode = b"100755" if file.executable else b"100644"
        chunks += [
            b"M %s inline %s\n" % (mode, _quoted(path)),
            b"data %d\n" % len(file.content),
            file.content,
            b"\n",
        ]
    return b"".join([*chunks, b"done\n"])


def _quoted(path: str) -> bytes:
    plain = path.encode(errors="surrogateescape").replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\n", b"\\n")
    return b'"%s"' % plain
