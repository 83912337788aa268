"""What a run is to suffer, as data: fault rules, and commands now or at a time of their own."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import msgspec

from launchguard.errors import LaunchguardError
from launchguard.lab.faults import Rule

if TYPE_CHECKING:
    from pathlib import Path


class _Command(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="do"):
    pass


class DropWatches(_Command, frozen=True, tag="drop-watches"):
    """Cut open watches: of a resource or a user, or all."""

    resource: str = ""
    user: str = ""


class Compact(_Command, frozen=True, tag="compact"):
    """Forget the history of changes: watches that resume from before get 410."""


class ApiDown(_Command, frozen=True, tag="api-down"):
    """Stop to listen and cut every connection."""


class ApiUp(_Command, frozen=True, tag="api-up"):
    """Listen again, on the same port, with the same objects."""


class Cordon(_Command, frozen=True, tag="cordon"):
    """Let a node take no new pods, or again."""

    node: str
    unschedulable: bool = True


class Drain(_Command, frozen=True, tag="drain"):
    """Cordon a node and evict its pods."""

    node: str


class Evict(_Command, frozen=True, tag="evict"):
    """Evict one pod through the API."""

    pod: str
    namespace: str = "default"


class NodePressure(_Command, frozen=True, tag="node-pressure"):
    """Have the kubelet end one pod for lack of memory on the node: Failed, reason Evicted."""

    pod: str
    namespace: str = "default"


class KillForMemory(_Command, frozen=True, tag="oom-kill"):
    """Kill what runs in one pod, as beyond its memory limit."""

    pod: str
    namespace: str = "default"


class StepClock(_Command, frozen=True, tag="step-clock"):
    """Move the control plane's wall clock."""

    seconds: float


Command: TypeAlias = (
    DropWatches | Compact | ApiDown | ApiUp | Cordon | Drain | Evict | NodePressure | KillForMemory | StepClock
)


class Timed(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A command, and when to carry it out: seconds after the plan began."""

    at: float
    command: Command


class Plan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All that a run is to suffer."""

    rules: tuple[Rule, ...] = ()
    commands: tuple[Timed, ...] = ()


def read_plan(path: Path) -> Plan:
    """Read a plan from a JSON file.

    Raises:
        LaunchguardError: it is none; the message has the path of the wrong field.
    """
    try:
        return msgspec.json.decode(path.read_bytes(), type=Plan)
    except (msgspec.DecodeError, OSError) as error:
        raise LaunchguardError(f"fault plan {path}: {error}") from error
