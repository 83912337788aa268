"""The lanes' locks: every package with its hashes, as of the track's day."""

from __future__ import annotations

from typing import TYPE_CHECKING

from launchguard.errors import LaunchguardError, cannot_tell
from launchguard.uv import uv

if TYPE_CHECKING:
    from pathlib import Path

    from launchguard.project import Project
    from launchguard.track import Lane, Track

HEADER = "# Made by `launchguard lanes lock` from {lane}.in, with packages uploaded until {until}. Do not edit.\n"


def lock_path(project: Project, track: Track, lane: Lane) -> Path:
    return project.track_folder(track.name) / "lanes" / f"{lane.lock or lane.name}.txt"


def require_lock(project: Project, track: Track, lane: Lane) -> Path:
    """Give a lane's lock.

    Raises:
        LaunchguardError: there is none yet (exit code 2: the lane cannot be told).
    """
    path = lock_path(project, track, lane)
    if not path.is_file():
        raise cannot_tell(f"lane {lane.name} has no lock; make it with `launchguard lanes lock {lane.name}`")
    return path


def lock_lane(project: Project, track: Track, lane: Lane) -> bool:
    """Resolve `<lane>.in` into `<lane>.txt` for every platform.

    Returns:
        Whether the lock changed.

    Raises:
        LaunchguardError: there is no `<lane>.in`, or uv finds no solution.
    """
    target = lock_path(project, track, lane)
    source = target.with_suffix(".in")
    if not source.is_file():
        raise LaunchguardError(f"there is no {source.name} in {source.parent}; it names what the lane installs")
    words = (
        "pip",
        "compile",
        "--quiet",
        "--universal",
        "--generate-hashes",
        "--no-header",
        "--no-annotate",
        "--no-emit-index-url",
    )
    until = lane.packages_until or track.packages_until
    limits = ("--python-version", lane.python, "--exclude-newer", until)
    resolved = uv(*words, *limits, source, check=False)
    if resolved.code:
        raise LaunchguardError(f"no lock for lane {lane.name}: {resolved.messages.strip()}")
    text = HEADER.format(lane=lane.name, until=until) + resolved.text
    changed = not target.is_file() or target.read_text(encoding="utf-8") != text
    if changed:
        target.write_text(text, encoding="utf-8")
    return changed
