"""`/run`: patched over released, each request starting a queued task instance."""

from __future__ import annotations

import contextlib
import functools
import itertools
from typing import TYPE_CHECKING, Final

import msgspec
from bench.comparison import Comparison, Sample, Side, Turn, compare, take_turns

if TYPE_CHECKING:
    from collections.abc import Iterator

    from bench.child import Child
    from bench.ground import Ground

ROUNDS: Final = 40
REQUESTS: Final = 50
"""In one round; with the rounds, 2,000 of a side."""
_ROUNDS_OF_A_START: Final = 8
"""Then new processes are started: the same code differs by some percent from start to start (layout, hash seeds)."""
GOAL: Final = 1.03
SIDES: Final = ("patched", "released")


class Answer(msgspec.Struct, frozen=True):
    """What `inside/run_requests.py` says: seconds and statements of each request, and what the worker sent."""

    samples: list[tuple[float, int]]
    fields: list[str]


def run_requests(ground: Ground, rounds: int | None) -> list[Comparison]:
    """Time the requests of both sides in turns."""
    waiting = _slices(ground)
    turns: dict[str, list[Turn]] = {side: [] for side in SIDES}
    left = rounds or ROUNDS
    while left > 0:
        for side, samples in _start(ground, waiting, min(left, _ROUNDS_OF_A_START)).items():
            turns[side].append(samples)
        left -= _ROUNDS_OF_A_START
    return [compare("/run", turns, *SIDES, goal=GOAL)]


def _start(ground: Ground, waiting: Iterator[list[str]], rounds: int) -> dict[str, Turn]:
    """Start both sides, and give all that they measure until they end: what the spread is judged by."""
    with contextlib.ExitStack() as stack:
        children = {side: stack.enter_context(ground.program("run_requests", side)) for side in SIDES}
        sides = [Side(name, functools.partial(_turn, one, waiting)) for name, one in children.items()]
        take_turns("/run, to warm up", sides, 1)
        turns = take_turns("/run", sides, rounds)
    return {side: list(itertools.chain(*own)) for side, own in turns.items()}


def _slices(ground: Ground) -> Iterator[list[str]]:
    """Give task instances that nobody has started yet."""
    first = 0
    while True:
        yield ground.database.queued(first, REQUESTS)
        first += REQUESTS


def _turn(running: Child, waiting: Iterator[list[str]]) -> Turn:
    return [Sample(*sample) for sample in running.ask(Answer, ids=next(waiting)).samples]
