"""Downloads into a content-addressed cache: a file is there whole and verified, or not at all."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import requests

from launchguard.errors import LaunchguardError
from launchguard.index import TIMEOUT_SECONDS, file_url, first_line, web_session

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from launchguard.project import Project
    from launchguard.track import Part, Sdist

    Advance = Callable[[int], object]

CHUNK = 1 << 16
ATTEMPTS = 4


def cached_path(project: Project, sdist: Sdist) -> Path:
    return project.cache / "sdists" / sdist.sha256 / sdist.file


def verify(path: Path, sdist: Sdist) -> None:
    """Compare a file with its pin.

    Raises:
        LaunchguardError: the size or the hash differs.
    """
    _verify_size(path.stat().st_size, sdist)
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    if digest != sdist.sha256:
        raise LaunchguardError(
            f"{sdist.file} has SHA-256 {digest}, its pin says {sdist.sha256}; check track.toml or the index"
        )


def _verify_size(size: int, sdist: Sdist) -> None:
    if size != sdist.size:
        raise LaunchguardError(
            f"{sdist.file} has {size} bytes, its pin says {sdist.size}; check track.toml or the index"
        )


def is_cached(project: Project, sdist: Sdist) -> bool:
    """Tell whether the cache holds the file, whole and as pinned."""
    try:
        verify(cached_path(project, sdist), sdist)
    except (FileNotFoundError, LaunchguardError):
        return False
    return True


def fetch_sdist(project: Project, part: Part, advance: Advance) -> Path:
    """Bring one sdist into the cache, resuming what an interrupted run left and replacing what was damaged.

    Args:
        project: whose cache.
        part: what to bring.
        advance: told the number of bytes each time some arrive.

    Returns:
        The verified file.

    Raises:
        LaunchguardError: it cannot be had as pinned; nothing of it is left behind then.
    """
    target = cached_path(project, part.sdist)
    if is_cached(project, part.sdist):
        advance(part.sdist.size)
        return target
    target.parent.mkdir(parents=True, exist_ok=True)
    partial = target.with_name(target.name + ".part")
    try:
        _download(part, partial, advance)
        verify(partial, part.sdist)
    except LaunchguardError:
        partial.unlink(missing_ok=True)
        raise
    partial.replace(target)
    return target


def _download(part: Part, partial: Path, advance: Advance) -> None:
    session = web_session()
    url = file_url(session, part.distribution, part.sdist.file)
    advance(_size(partial))
    failure = "it ended early"
    for _ in range(ATTEMPTS):
        if _size(partial) >= part.sdist.size:
            return
        try:
            _append(session, url, partial, part.sdist, advance)
        except (requests.RequestException, OSError) as error:
            failure = first_line(error)
    got = _size(partial)
    if got < part.sdist.size:
        raise LaunchguardError(
            f"download of {part.sdist.file} stopped at {got} of {part.sdist.size} bytes: {failure}; try again"
        )


def _append(session: requests.Session, url: str, partial: Path, sdist: Sdist, advance: Advance) -> None:
    have = _size(partial)
    headers = {"Accept-Encoding": "identity"} | ({"Range": f"bytes={have}-"} if have else {})
    with session.get(url, headers=headers, stream=True, timeout=TIMEOUT_SECONDS) as response:
        if response.status_code == requests.codes.requested_range_not_satisfiable:
            _verify_size(have, sdist)  # all there is, and less than the pin says
        response.raise_for_status()
        resumed = response.status_code == requests.codes.partial_content
        if have and not resumed:
            advance(-have)
            have = 0
        _verify_size(have + int(response.headers.get("Content-Length", sdist.size - have)), sdist)
        with partial.open("ab" if resumed else "wb") as file:
            for chunk in response.iter_content(CHUNK):
                have += len(chunk)
                _verify_size(max(have, sdist.size), sdist)  # a server that names no length may never end
                file.write(chunk)
                advance(len(chunk))


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0
