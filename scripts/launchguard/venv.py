"""Makes the environment of a lane: its lock, with the tree's parts laid over it."""

from __future__ import annotations

import hashlib
import shutil
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

import msgspec

from launchguard.interpreters import find_python
from launchguard.lock import require_lock
from launchguard.uv import uv
from launchguard.wheels import build_wheel, part_key

if TYPE_CHECKING:
    from pathlib import Path

    from launchguard.fetch import Tree
    from launchguard.project import Project
    from launchguard.track import Lane


class Variant(StrEnum):
    """Which side of the comparison a run is on."""

    PATCHED = "patched"
    UNPATCHED = "unpatched"


class Contents(msgspec.Struct, frozen=True):
    """What is in an environment: the hash of lock and interpreter, and the id of each part laid over."""

    base: str
    parts: dict[str, str]


@dataclass(frozen=True)
class Venv:
    """A lane's environment, ready to run."""

    folder: Path
    contents: Contents

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"


def lane_contents(project: Project, tree: Tree, lane: Lane, variant: Variant, revision: str) -> Contents:
    """Tell what a lane's environment holds, without making it."""
    lock = require_lock(project, tree.track, lane).read_bytes()
    base = hashlib.sha256(lock + find_python(lane.python).encode()).hexdigest()
    patched = lane.patched if variant is Variant.PATCHED else ()
    return Contents(base, {name: part_key(tree.git, revision, tree.track.part(name)) for name in patched})


def lane_venv(project: Project, tree: Tree, lane: Lane, variant: Variant, revision: str) -> Venv:
    """Give a lane's environment, bringing it up to date where it is not.

    Args:
        project: whose `build/venvs` keeps it.
        tree: where the patched parts come from.
        lane: which one.
        variant: the patched parts, or the released ones that the lock names.
        revision: the commit or tree that the parts are taken from.

    Raises:
        LaunchguardError: no interpreter, no lock, or an installation that failed.
    """
    wanted = lane_contents(project, tree, lane, variant, revision)
    folder = project.build / "venvs" / f"{tree.track.name}-{lane.name}-{variant}"
    stamp = folder / "launchguard.json"
    present = msgspec.json.decode(stamp.read_bytes(), type=Contents) if stamp.is_file() else Contents("", {})
    if present.base != wanted.base or set(present.parts) - set(wanted.parts):
        _install_lock(project, tree, lane, folder)
        present = Contents(wanted.base, {})
    stale = [name for name, key in wanted.parts.items() if present.parts.get(name) != key]
    if stale:
        stamp.unlink(missing_ok=True)
        wheels = [build_wheel(project, tree.git, revision, tree.track.part(name)) for name in stale]
        uv("pip", "install", "--quiet", "--python", folder, "--no-deps", "--reinstall", *wheels)
    stamp.write_bytes(msgspec.json.encode(wanted))
    return Venv(folder, wanted)


def _install_lock(project: Project, tree: Tree, lane: Lane, folder: Path) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    uv("venv", "--quiet", "--python", find_python(lane.python), folder)
    uv("pip", "sync", "--quiet", "--python", folder, "--require-hashes", require_lock(project, tree.track, lane))
