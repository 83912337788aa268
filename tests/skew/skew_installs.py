"""The installations that are combined: released, patched, and two that only this suite needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from launchguard.lab.installs import LANE
from launchguard.track import PROVIDER
from launchguard.venv import Variant, lane_venv

if TYPE_CHECKING:
    from pathlib import Path

    from launchguard.lab.installs import Ground

RELEASED: Final = "released"
PATCHED: Final = "patched"
PROVIDER_ONLY: Final = "patched provider only"
SDK_1_2: Final = "task SDK 1.2"

OLDER: Final = "release-3.2.2"
"""The other release that the track has of the minor version before."""
_VARIANTS: Final = {
    RELEASED: Variant.UNPATCHED,
    PATCHED: Variant.PATCHED,
    PROVIDER_ONLY: Variant.PATCHED,
    SDK_1_2: Variant.UNPATCHED,
}


@dataclass(frozen=True, slots=True)
class Installs:
    """Gives installations by the names that the table has for them; `ground` is what they are made from."""

    ground: Ground

    def folder(self, name: str) -> Path:
        """Give an installation, made where it is not there yet.

        Raises:
            KeyError: there is no such one.
            LaunchguardError: it cannot be made.
        """
        ground, track = self.ground, self.ground.tree.track
        lane = track.release(OLDER) if name == SDK_1_2 else track.lane(LANE)
        if name == PROVIDER_ONLY:
            lane = msgspec.structs.replace(lane, name="skew-provider", lock=lane.lock or LANE, patched=(PROVIDER,))
        variant = _VARIANTS[name]
        return lane_venv(ground.project, ground.tree, lane, variant, ground.revision).folder
