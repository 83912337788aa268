"""The installations that are timed: Python and every package but the compared ones are the same in all of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from launchguard import console
from launchguard.apply import apply_all
from launchguard.fetch import fetch
from launchguard.track import PROVIDER, load_track
from launchguard.uv import uv
from launchguard.venv import Variant, lane_venv

if TYPE_CHECKING:
    from pathlib import Path

    from launchguard.project import Project

PYTHON: Final = "3.11"
"""The oldest that provider 10.25.0 installs on."""
PREFLIGHT_VERSION: Final = "10.25.0"
_PREFLIGHT_SHA256: Final = "6644520fcfec8b16c271602bfe0492848857261a48885e83ae4477e1da662d74"
_LOCK: Final = "head"


@dataclass(frozen=True)
class Installs:
    """Folders of environments.

    Args:
        released: as the track's lock has it; its provider looks nothing up before it creates a pod.
        patched: the same with the series.
        preflight: as released, with the provider whose preflight asks the database for each pod.
        versions: what each of them is, in words, by its name here.
    """

    released: Path
    patched: Path
    preflight: Path
    versions: dict[str, str]


def make_installs(project: Project) -> Installs:
    """Make them, or find them unchanged.

    Raises:
        LaunchguardError: the series does not apply, or an installation failed.
    """
    track = load_track(project, project.tracks()[0])
    tree = fetch(project, track)
    applied = apply_all(project, tree)
    base = msgspec.structs.replace(track.lane(_LOCK), name="bench", lock=_LOCK, python=PYTHON)
    # An environment of its own, which the other provider is laid over.
    newer = msgspec.structs.replace(base, name=f"bench-{PREFLIGHT_VERSION}")
    with console.working("making the environments"):
        patched = lane_venv(project, tree, base, Variant.PATCHED, applied.head)
        released = lane_venv(project, tree, base, Variant.UNPATCHED, applied.head)
        preflight = lane_venv(project, tree, newer, Variant.UNPATCHED, applied.head)
        provider = track.part(PROVIDER)
        wanted = preflight.folder / "preflight.txt"
        wanted.write_text(f"{provider.distribution}=={PREFLIGHT_VERSION} --hash=sha256:{_PREFLIGHT_SHA256}\n")
        uv("pip", "install", "--quiet", "--python", preflight.folder, "--no-deps", "--require-hashes", "-r", wanted)
    released_name = f"{provider.version} on core {track.name}"
    versions = {
        "released": released_name,
        "patched": f"{released_name} with {len(applied.slugs)} patches",
        "preflight": f"{PREFLIGHT_VERSION} on core {track.name}",
    }
    return Installs(released.folder, patched.folder, preflight.folder, versions)
