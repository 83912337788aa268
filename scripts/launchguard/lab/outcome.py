"""What a verdict counts for: a released run that must break, a patched one that must hold."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Final

from launchguard.errors import Exit
from launchguard.lab.checker import Judgement, Verdict
from launchguard.patchfile import read_patch
from launchguard.series import read_series

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable
    from pathlib import Path

    from launchguard.lab.scenario import Scenario


class Side(StrEnum):
    """Which Airflow a scenario is played on."""

    RELEASED = "released"
    NEWER = "newer"
    """Upstream's newest release: shown for comparison, never a problem of ours."""
    PATCHED = "patched"


BEFORE_AND_AFTER: Final = (Side.RELEASED, Side.PATCHED)


class Outcome(StrEnum):
    """What one run of a scenario counts for."""

    REPRODUCED = "reproduced"
    """Released, and broken as the scenario says; of a release that nothing is asked of: broken."""
    NOT_REPRODUCING = "not reproducing"
    """Released, and not broken as the scenario says: then the patched run proves nothing either."""
    HOLDS = "holds"
    BROKEN = "broken"
    OPEN = "open"
    """Patched, but the series has no patch for a rule that the scenario needs."""
    CANNOT_TELL = "can't tell"


PROBLEMS = frozenset({Outcome.NOT_REPRODUCING, Outcome.BROKEN})


def outcome_of(scenario: Scenario, side: Side, judgement: Judgement, missing: Collection[str]) -> Outcome:
    """Weigh a judgement.

    Args:
        missing: the rules that the scenario needs and the series has no patch for.
    """
    if side is Side.PATCHED and missing:
        return Outcome.OPEN
    if judgement.verdict is Verdict.CANNOT_TELL:
        return Outcome.CANNOT_TELL
    if side is Side.NEWER or (side is Side.RELEASED and scenario.released_may_break):
        return Outcome.HOLDS if judgement.verdict is Verdict.HOLDS else Outcome.REPRODUCED
    if side is Side.RELEASED and scenario.released_breaks:
        told = judgement.broken() & set(scenario.released_breaks)
        return Outcome.REPRODUCED if told else Outcome.NOT_REPRODUCING
    return Outcome.HOLDS if judgement.verdict is Verdict.HOLDS else Outcome.BROKEN


def exit_code(outcomes: Iterable[Outcome]) -> Exit:
    """Give what the process ends with; nothing run at all is no success."""
    seen = set(outcomes)
    if seen & PROBLEMS:
        return Exit.PROBLEMS
    return Exit.CANNOT_TELL if Outcome.CANNOT_TELL in seen or not seen else Exit.GOOD


def rules_of(folder: Path) -> frozenset[str]:
    """Give the rules that a track's series has patches for, as their trailers say.

    Args:
        folder: of the track.
    """
    trailers = (read_patch(folder, slug).trailer("Rules") or "" for slug in read_series(folder))
    return frozenset(rule for trailer in trailers for rule in trailer.split())
