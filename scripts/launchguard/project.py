"""Where things are: the series in `patches/`, everything made in `build/`."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from launchguard.errors import LaunchguardError

if TYPE_CHECKING:
    from collections.abc import Iterator


@dataclass(frozen=True)
class Project:
    """The folders of one checkout; `build` is the only one that is written to without being asked."""

    root: Path

    @property
    def patches(self) -> Path:
        return self.root / "patches"

    @property
    def build(self) -> Path:
        return self.root / (os.environ.get("LAUNCHGUARD_BUILD") or "build")

    @property
    def cache(self) -> Path:
        return self.build / "cache"

    @property
    def logs(self) -> Path:
        return self.build / "logs"

    @property
    def report(self) -> Path:
        return self.build / "report"

    def tree(self, track: str, source: str) -> Path:
        """Give the folder of a track's source tree: one for each kind of source."""
        return self.build / "trees" / (track if source == "sdist" else f"{track}-{source}")

    def track_folder(self, track: str) -> Path:
        return self.patches / track

    def tracks(self) -> list[str]:
        return sorted(path.parent.name for path in self.patches.glob("*/track.toml"))

    @contextlib.contextmanager
    def lock(self, name: str) -> Iterator[None]:
        """Keep a second launchguard out of the part of `build` called `name`; released when we die.

        Raises:
            LaunchguardError: another process holds it.
        """
        path = self.build / "locks" / f"{name}.lock"
        path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(path)
        try:
            lock.acquire(timeout=0.5)
        except Timeout:
            raise LaunchguardError(f"another launchguard is working on {name}; wait for it to end") from None
        try:
            yield
        finally:
            lock.release()


def find_project() -> Project:
    """Find the project: `LAUNCHGUARD_ROOT`, else the nearest folder upwards with `patches/`, else the code's own.

    Raises:
        LaunchguardError: there is none.
    """
    named = os.environ.get("LAUNCHGUARD_ROOT")
    candidates = [Path(named)] if named else [Path.cwd(), *Path.cwd().parents, Path(__file__).resolve().parents[2]]
    for folder in candidates:
        if any(folder.glob("patches/*/track.toml")):
            return Project(folder.resolve())
    raise LaunchguardError("no patches/*/track.toml here; run this inside a launchguard checkout")
