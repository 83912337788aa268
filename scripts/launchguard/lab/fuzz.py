"""Random scenarios: the same ones for the same seed, so that what one of them found can be played again."""

from __future__ import annotations

import random
from typing import TYPE_CHECKING, Final

from launchguard.lab.actions import Action
from launchguard.lab.faults import Match, Rule
from launchguard.lab.kubelet.settings import KubeletSettings
from launchguard.lab.plan import ApiDown, ApiUp, Compact, Cordon, Drain, DropWatches
from launchguard.lab.scenario import Scenario
from launchguard.lab.steps import Act, Arm, AwaitState, Clear, CutDatabase, Do, Mark, Sleep, Step, Trigger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# What every interleaving needs, and what only some do: those alone stay open while their rule has no patch.
_ALWAYS: Final = ("R1", "R2", "R3", "R5", "R6", "R7", "R8", "R9", "R10", "R11", "R12", "R13")
_REQUEUED: Final = ("R14", "R17")
_ADOPTED: Final = ("R14",)
_ANSWER_LOST: Final = ("R16",)
TASKS: Final = tuple(f"work{number}" for number in range(4))
_ORDEALS: Final = (2, 6)
# Tight enough that a run sees requeues and takeovers, loose enough for a busy machine.
_AIRFLOW: Final = {"scheduler.scheduler_health_check_threshold": "15", "scheduler.orphaned_tasks_check_interval": "5"}
_IMPATIENT: Final = {
    "scheduler.task_queued_timeout": "20",
    "scheduler.task_queued_timeout_check_interval": "2",
    "scheduler.num_stuck_in_queued_retries": "8",
}
_CREATION: Final = Match(verbs=("create",), resource="pods")
_PODS: Final = Match(resource="pods")
# Which faults may be armed, and on what.
_FAULTS: Final[tuple[tuple[Action, Match], ...]] = (
    (Action.QUOTA, _CREATION),
    (Action.RATE_LIMIT, _CREATION),
    (Action.ERROR, _CREATION),
    (Action.ERROR_AFTER, _CREATION),
    (Action.LOST_REQUEST, _CREATION),
    (Action.LOST_RESPONSE, _CREATION),
    (Action.SLOW, _CREATION),
    (Action.SLOW_RESPONSE, _CREATION),
    (Action.DUPLICATE_EVENT, _PODS),
    (Action.LATE_EVENT, _PODS),
    (Action.REORDER_EVENT, _PODS),
    (Action.WATCH_DROP, _PODS),
    (Action.WATCH_GONE, _PODS),
    (Action.UNSCHEDULABLE, _PODS),
    (Action.SLOW_START, _PODS),
    (Action.OOM_BEFORE_START, _PODS),
    (Action.REJECTED, _PODS),
    (Action.DRAINED, _PODS),
)


def random_scenario(seed: int, number: int) -> Scenario:
    """Make the scenario of a number; every part of it is drawn from the seed and the number alone.

    Every third number is impatient: it requeues what is stuck in queued.
    """
    draws = random.Random(f"{seed}:{number}")  # noqa: S311  must replay, is no secret
    steps: list[Step] = [Trigger()]
    if draws.random() < 1 / 2:
        steps.insert(0, _fault(draws, 0))
    for ordeal in range(1, draws.randint(*_ORDEALS)):
        steps += _ORDEAL_MAKERS[draws.randrange(len(_ORDEAL_MAKERS))](draws, ordeal)
        steps.append(Sleep(seconds=round(draws.uniform(0.2, 4), 1)))
    impatient = number % 3 == 0
    return Scenario(
        name=f"fuzz-{seed}-{number}",
        title=f"random interleaving {number} of seed {seed}",
        dag="several",
        steps=tuple(steps),
        needs=_needs(steps, impatient=impatient),
        released_may_break=True,
        # A scheduler of Airflow ends when the Kubernetes API or the database is away for a moment.
        restarts=True,
        airflow={**_AIRFLOW, **_IMPATIENT} if impatient else dict(_AIRFLOW),
        settle=240,
    )


def _needs(steps: Sequence[Step], *, impatient: bool) -> tuple[str, ...]:
    needs = {*_ALWAYS, *(_REQUEUED if impatient else ())}
    for step in steps:
        match step:
            case Act():
                needs |= {*_ADOPTED}
            case Do(command=ApiDown()):
                # What is under way when it goes down may be carried out all the same.
                needs |= {*_ANSWER_LOST}
            case Arm(fault=Rule(action=Action.LOST_RESPONSE | Action.ERROR_AFTER)):
                needs |= {*_ANSWER_LOST}
    return tuple(sorted(needs, key=lambda rule: int(rule[1:])))


def _fault(draws: random.Random, number: int) -> Arm:
    action, match = _FAULTS[draws.randrange(len(_FAULTS))]
    return Arm(
        fault=Rule(
            id=f"{action}-{number}",
            action=action,
            match=match,
            count=draws.randint(1, 6),
            skip=draws.randint(0, 3),
            probability=draws.choice((0.3, 0.7, 1.0)),
        )
    )


def _faults(draws: random.Random, ordeal: int) -> Iterator[Step]:
    yield _fault(draws, ordeal)


def _clearing(draws: random.Random, _ordeal: int) -> Iterator[Step]:
    yield Clear(task=draws.choice(TASKS), only_queued=True)


def _marking(draws: random.Random, _ordeal: int) -> Iterator[Step]:
    yield Mark(task=draws.choice(TASKS), state="success", only_queued=True)


def _outage(draws: random.Random, _ordeal: int) -> Iterator[Step]:
    task = draws.choice(TASKS)
    yield AwaitState(task=task, state="queued")
    down, up = draws.choice((("kill", "start"), ("pause", "resume")))
    yield Act(act="kill" if down == "kill" else "pause", component=f"owner-of:{task}")
    yield Sleep(seconds=round(draws.uniform(1, 25), 1))
    yield Act(act="start" if up == "start" else "resume", component="last")


def _watches(draws: random.Random, _ordeal: int) -> Iterator[Step]:
    if draws.random() < 1 / 2:
        yield Do(command=Compact())
    yield Do(command=DropWatches(resource="pods"))


def _cluster_down(draws: random.Random, _ordeal: int) -> Iterator[Step]:
    yield Do(command=ApiDown())
    yield Sleep(seconds=round(draws.uniform(1, 6), 1))
    yield Do(command=ApiUp())


def _drain(draws: random.Random, _ordeal: int) -> Iterator[Step]:
    node = KubeletSettings().nodes[0]
    yield Do(command=Drain(node=node))
    yield Sleep(seconds=round(draws.uniform(0.2, 3), 1))
    yield Do(command=Cordon(node=node, unschedulable=False))


def _database_cut(_draws: random.Random, _ordeal: int) -> Iterator[Step]:
    yield CutDatabase()


_ORDEAL_MAKERS: Final[tuple[Callable[[random.Random, int], Iterator[Step]], ...]] = (
    _faults,
    _faults,
    _clearing,
    _clearing,
    _marking,
    _outage,
    _watches,
    _cluster_down,
    _drain,
    _database_cut,
)
