"""`sync()`: time per pod, patched over released and over the released preflight that asks for each pod."""

from __future__ import annotations

import contextlib
import functools
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec
import requests
from bench.child import child
from bench.comparison import Comparison, Sample, Side, Turn, compare, take_turns
from bench.million import QUEUED, SCHEDULER_JOB

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from bench.child import Child
    from bench.ground import Ground

ROUNDS: Final = {1: 24, 16: 24, 64: 12}
"""By batch size."""
_SHARP_ROUNDS: Final = 96
"""Where there is a goal: one query in a batch is a small part of it."""
_FEWEST: Final = 16
"""Pods in one turn: at batch size 1, as many calls."""
SIDES: Final = ("patched", "released", "preflight")
GOALS: Final = {(16, 0.005): 1.02}
"""Against no preflight at all, by batch size and latency."""
AHEAD: Final = 1.0
"""Against a preflight for each pod."""


class Answer(msgspec.Struct, frozen=True):
    """What `inside/sync_pods.py` says: seconds and statements of each `sync()`."""

    samples: list[tuple[float, int]]


class Address(msgspec.Struct, frozen=True):
    """Where the stand-in for the Kubernetes API listens."""

    url: str


def sync_pods(latency: float, ground: Ground, rounds: int | None) -> list[Comparison]:
    """Time every batch size.

    Args:
        latency: seconds that the Kubernetes API takes to create a pod.
        ground: where.
        rounds: turns of each side, other than by default.
    """
    with contextlib.ExitStack() as stack:
        api = stack.enter_context(_pod_api(ground.folder))
        children = [
            stack.enter_context(ground.program("sync_pods", side, str(SCHEDULER_JOB), kubernetes=api)) for side in SIDES
        ]
        most = max(_FEWEST, *ROUNDS)
        ids = ground.database.queued(QUEUED - most, most)
        for one in children:
            one.ask(dict[str, int], ids=ids)
        requests.put(f"{api}/latency/{latency}", timeout=10).raise_for_status()
        return [row for batch in ROUNDS for row in _case(children, latency, batch, rounds)]


@contextlib.contextmanager
def _pod_api(folder: Path) -> Iterator[str]:
    program = Path(__file__).with_name("podapi.py")
    with child(sys.executable, program, log=folder / "podapi.log", cwd=folder) as running:
        yield running.hear(Address).url


def _case(children: Sequence[Child], latency: float, batch: int, rounds: int | None) -> list[Comparison]:
    name = f"sync(), {latency * 1000:g} ms, batch {batch}"
    pods = max(batch, _FEWEST)
    asked = [functools.partial(_turn, running, batch, pods) for running in children]
    sides = [Side(side, turn) for side, turn in zip(SIDES, asked, strict=True)]
    take_turns(f"{name}, to warm up", sides, 1)
    goal = GOALS.get((batch, latency))
    turns = take_turns(name, sides, rounds or (_SHARP_ROUNDS if goal else ROUNDS[batch]))
    patched, released, preflight = SIDES
    return [
        compare(name, turns, patched, released, goal),
        compare(name, turns, patched, preflight, AHEAD),
    ]


def _turn(running: Child, batch: int, pods: int) -> Turn:
    """Give the samples of one turn, in seconds per pod."""
    answer = running.ask(Answer, batch=batch, pods=pods)
    return [Sample(seconds / batch, statements) for seconds, statements in answer.samples]
