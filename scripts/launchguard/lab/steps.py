"""What a scenario can do, as data: a small vocabulary, enough for every story."""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

from launchguard.lab.faults import Rule
from launchguard.lab.plan import Command


class _Step(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="do"):
    pass


class Trigger(_Step, frozen=True, tag="trigger"):
    """Start the run of the scenario's Dag."""


class Arm(_Step, frozen=True, tag="arm"):
    """Arm a fault. A match's user `owner-of:TASK` is the scheduler that queued the task last."""

    fault: Rule


class Disarm(_Step, frozen=True, tag="disarm"):
    """Remove a fault."""

    fault: str


class AwaitFault(_Step, frozen=True, tag="await-fault"):
    """Wait until a fault has struck so often."""

    fault: str
    times: int = 1
    within: float = 60.0


class AwaitState(_Step, frozen=True, tag="await-state"):
    """Wait until a task became `state` so often, counted over all of its tries and map indexes."""

    task: str
    state: str
    times: int = 1
    within: float = 90.0


class AwaitPods(_Step, frozen=True, tag="await-pods"):
    """Wait until so many pods are in a phase."""

    phase: Literal["Pending", "Running", "Succeeded", "Failed"]
    count: int = 1
    within: float = 60.0


class AwaitCode(_Step, frozen=True, tag="await-code"):
    """Wait until user code of the run has begun so often."""

    times: int = 1
    within: float = 60.0


class Clear(_Step, frozen=True, tag="clear"):
    """Clear a task, as its user would, so that it is queued anew; `only_queued` leaves one alone that is not."""

    task: str
    only_queued: bool = False


class ClearQueued(_Step, frozen=True, tag="clear-queued"):
    """Clear as many of a mapped task's instances as are queued, those that wait longest first."""

    task: str
    at_most: int


class ClearUntilMoved(_Step, frozen=True, tag="clear-until-moved"):
    """Clear a task again and again until another scheduler than its first one queues it."""

    task: str
    at_most: int = 12


class Mark(_Step, frozen=True, tag="mark"):
    """Set a task's state, as its user would; `only_queued` leaves one alone that is not."""

    task: str
    state: Literal["success", "failed"]
    only_queued: bool = False


class Act(_Step, frozen=True, tag="component"):
    """Do something to a process of Airflow.

    `owner-of:TASK` is the scheduler that queued the task last, `last` the process of the step of this kind before.
    """

    act: Literal["kill", "pause", "resume", "start"]
    component: str


class CutDatabase(_Step, frozen=True, tag="cut-database"):
    """End every connection that Airflow has to its database."""


class Do(_Step, frozen=True, tag="command"):
    """Carry out a command of the stand-in."""

    command: Command


class Sleep(_Step, frozen=True, tag="sleep"):
    """Wait."""

    seconds: float


Step: TypeAlias = (
    Trigger
    | Arm
    | Disarm
    | AwaitFault
    | AwaitState
    | AwaitPods
    | AwaitCode
    | Clear
    | ClearQueued
    | ClearUntilMoved
    | Mark
    | Act
    | CutDatabase
    | Do
    | Sleep
)
