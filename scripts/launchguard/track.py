"""A track: one pinned base of Airflow, the lanes that test it, and what is known to fail there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

import msgspec

from launchguard.errors import LaunchguardError

if TYPE_CHECKING:
    from pathlib import Path

    from launchguard.project import Project

CORE, SDK, PROVIDER, ROOT = "core", "task-sdk", "provider", "root"
PART_FOLDERS = {ROOT: ".", CORE: "airflow-core", SDK: "task-sdk", PROVIDER: "providers/cncf/kubernetes"}
# The order wheels are installed in, and parts laid into a tree.
PARTS = (ROOT, CORE, SDK, PROVIDER)


class Sdist(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A source distribution, pinned by name, size in bytes and SHA-256."""

    file: str
    size: int
    sha256: str


class Part(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One distribution of the base.

    `tag` and `commit` say where the same sources stand in Airflow's git; `commit` is the full id, where
    it is known.
    """

    name: str
    distribution: str
    version: str
    sdist: Sdist
    tag: str
    commit: str | None = None

    @property
    def folder(self) -> str:
        """Where it lands in the monorepo layout."""
        return PART_FOLDERS[self.name]


class Breeze(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What upstream's breeze needs to know of a lane beyond its versions."""

    skip_providers: tuple[str, ...] = ()


class Lane(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One environment that tests a track.

    `patched` names the parts that come from the tree; all others are the released ones that the lane's
    lock names. `lock` is the lane whose lock is used, where that is another one's. An `extra` lane only runs
    when it is named, or with all of them. `packages_until` is the lane's own, where the track's does not do.
    """

    name: str
    python: str
    airflow: str
    patched: tuple[str, ...] = ()
    suites: tuple[str, ...] = ()
    breeze: Breeze = Breeze()
    database: Literal["sqlite", "postgresql"] = "sqlite"
    lock: str | None = None
    extra: bool = False
    packages_until: str | None = None


class Exemption(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A test (a pytest node) that is left out, or known to fail, with the reason; no `lanes` means all of them."""

    suite: str
    test: str
    reason: str
    lanes: tuple[str, ...] = ()

    def covers(self, lane: str, suite: str) -> bool:
        return self.suite == suite and (not self.lanes or lane in self.lanes)


class Track(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The whole of a `track.toml`.

    `base_commit` is the id of the commit that holds the parts in monorepo layout, the same on every
    machine; `packages_until` is the newest upload date (UTC) that the locks may take packages from.
    `releases` are other releases of Airflow, never patched nor tested, that the laboratory and the
    benchmarks compare with: lanes without suites.
    """

    name: str
    python: str
    packages_until: str
    base_commit: str
    parts: tuple[Part, ...]
    lanes: tuple[Lane, ...] = ()
    releases: tuple[Lane, ...] = ()
    deselected: tuple[Exemption, ...] = ()
    known_failures: tuple[Exemption, ...] = ()

    def part(self, name: str) -> Part:
        return next(part for part in self.parts if part.name == name)

    def lane(self, name: str) -> Lane:
        """Find a lane.

        Raises:
            LaunchguardError: the track has none of that name.
        """
        for lane in self.lanes:
            if lane.name == name:
                return lane
        raise LaunchguardError(f"track {self.name} has no lane {name!r}; it has {', '.join(self.lane_names())}")

    def release(self, name: str) -> Lane:
        """Find another release.

        Raises:
            LaunchguardError: the track compares with none of that name.
        """
        for release in self.releases:
            if release.name == name:
                return release
        known = ", ".join(one.name for one in self.releases) or "none"
        raise LaunchguardError(f"track {self.name} has no other release {name!r}; it has {known}")

    def lane_names(self) -> list[str]:
        return [lane.name for lane in self.lanes]


def load_track(project: Project, name: str) -> Track:
    """Read `patches/<name>/track.toml` and check what the types cannot say.

    Raises:
        LaunchguardError: there is no such track, or a field is wrong.
    """
    path = project.track_folder(name) / "track.toml"
    if not path.is_file():
        raise LaunchguardError(f"there is no track {name!r}; tracks here: {', '.join(project.tracks()) or 'none'}")
    return parse_track(path)


def parse_track(path: Path) -> Track:
    """Read one track file; see `load_track`."""
    try:
        track = msgspec.toml.decode(path.read_bytes(), type=Track)
    except msgspec.DecodeError as error:
        raise LaunchguardError(f"{path}: {error}") from error
    faults = list(_faults(track, path.parent.name))
    if faults:
        raise LaunchguardError(f"{path}: " + "; ".join(faults))
    return track


def _faults(track: Track, folder: str) -> list[str]:
    names = [part.name for part in track.parts]
    faults = [] if track.name == folder else [f"name is {track.name!r} but its folder is {folder!r}"]
    if sorted(names) != sorted(PARTS):
        faults.append(f"parts are {', '.join(names)}; wanted {', '.join(PARTS)}")
    for part in track.parts:
        if not re.fullmatch(r"[0-9a-f]{64}", part.sdist.sha256):
            faults.append(f"part {part.name}: sha256 is not 64 lower-case hex digits")
        if part.commit is not None and not re.fullmatch(r"[0-9a-f]{40}", part.commit):
            faults.append(f"part {part.name}: commit is not a full id of 40 hex digits")
    for lane in track.lanes:
        unknown = set(lane.patched) - set(PARTS)
        if unknown:
            faults.append(f"lane {lane.name}: unknown parts {', '.join(sorted(unknown))}")
    busy = [one.name for one in track.releases if one.patched or one.suites]
    faults += [f"release {name}: a release has neither patched parts nor suites" for name in busy]
    return faults
