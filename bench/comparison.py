"""Compare things in one run: medians, and their ratio with its spread.

Timings on shared machines are noisy, so the sides take turns, and nothing here fails a build.
"""

from __future__ import annotations

import random
import statistics
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from launchguard import console

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_RESAMPLES: Final = 500
_TAIL: Final = 0.025


@dataclass(frozen=True)
class Sample:
    """One measurement.

    Args:
        seconds: for one unit of what is timed.
        statements: that were sent to the database meanwhile, where that is counted.
    """

    seconds: float
    statements: int | None = None


Turn = list[Sample]


@dataclass(frozen=True)
class Side:
    """One side of a comparison; `turn` gives what one turn of it measured."""

    name: str
    turn: Callable[[], Turn]


@dataclass(frozen=True)
class Timing:
    """Seconds over all turns of one side; statements of one measurement, the fewest and the most."""

    side: str
    median: float
    fastest: float
    slowest: float
    measurements: int
    statements: tuple[int, int] | None


@dataclass(frozen=True)
class Comparison:
    """Two sides.

    Args:
        ratio: the first's median over the second's.
        lowest: of 95 of 100 ratios that other runs of this length would give, judged by resampling the turns.
        highest: the same.
        goal: what the ratio is wanted to be at most.
    """

    name: str
    first: Timing
    second: Timing
    ratio: float
    lowest: float
    highest: float
    goal: float | None = None


def stopwatch(timed: Callable[[], None], prepare: Callable[[], None] | None = None) -> Callable[[], Turn]:
    """Give a turn that times one call; what `prepare` does is not timed."""

    def turn() -> Turn:
        if prepare is not None:
            prepare()
        started = time.perf_counter()
        timed()
        return [Sample(time.perf_counter() - started)]

    return turn


def take_turns(name: str, sides: Sequence[Side], rounds: int) -> dict[str, list[Turn]]:
    """Measure sides in turns, each time in another order."""
    turns: dict[str, list[Turn]] = {side.name: [] for side in sides}
    told = time.monotonic()
    for number in range(rounds):
        if number == 0 or time.monotonic() - told > console.LONG_SECONDS:
            console.note(f"{name}: round {number + 1} of {rounds}")
            told = time.monotonic()
        for side in in_order(sides, number):
            turns[side.name].append(side.turn())
    return turns


def in_order(sides: Sequence[Side], number: int) -> list[Side]:
    """Give the order of a round: everyone is first equally often, and nobody always follows the same one."""
    start = number % len(sides)
    order = [*sides[start:], *sides[:start]]
    return order[::-1] if number // len(sides) % 2 else order


def compare(name: str, turns: dict[str, list[Turn]], first: str, second: str, goal: float | None = None) -> Comparison:
    """Compare two of the sides that took turns."""
    one, two = turns[first], turns[second]
    ratio, (lowest, highest) = _ratio(one, two), spread(one, two)
    console.note(f"{name}: {first} over {second} {ratio:.3f} ({lowest:.3f} to {highest:.3f})")
    return Comparison(name, _timing(first, one), _timing(second, two), ratio, lowest, highest, goal)


def spread(one: Sequence[Turn], two: Sequence[Turn]) -> tuple[float, float]:
    """Give the ratios between which 95 of 100 fall when the rounds are drawn anew, with replacement."""
    draw = random.Random(0)
    ratios = []
    for _ in range(_RESAMPLES):
        picked = draw.choices(range(len(one)), k=len(one))
        ratios.append(_ratio([one[at] for at in picked], [two[at] for at in picked]))
    ratios.sort()
    at = int(_TAIL * len(ratios))
    return ratios[at], ratios[-1 - at]


def _ratio(one: Sequence[Turn], two: Sequence[Turn]) -> float:
    return statistics.median(_seconds(one)) / statistics.median(_seconds(two))


def _seconds(turns: Sequence[Turn]) -> list[float]:
    return [sample.seconds for turn in turns for sample in turn]


def _timing(side: str, turns: Sequence[Turn]) -> Timing:
    seconds = _seconds(turns)
    sent = [sample.statements for turn in turns for sample in turn if sample.statements is not None]
    statements = (min(sent), max(sent)) if sent else None
    return Timing(side, statistics.median(seconds), min(seconds), max(seconds), len(seconds), statements)
