"""What a real cluster cannot be made to do, which leaves a scenario without a verdict."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from launchguard.lab.actions import Action
from launchguard.lab.plan import KillForMemory, NodePressure, StepClock
from launchguard.lab.steps import Arm, Do

if TYPE_CHECKING:
    from collections.abc import Mapping

    from launchguard.lab.scenario import Scenario

_ACTIONS: Final[Mapping[Action, str]] = {
    Action.OOM_BEFORE_START: "a container cannot be killed for lack of memory before it runs anything",
    Action.REJECTED: "a kubelet cannot be made short of memory for one pod alone",
}
_COMMANDS: Final[Mapping[type, str]] = {
    NodePressure: "a kubelet cannot be made short of memory for one pod alone",
    KillForMemory: "a container's memory limit cannot be reached on demand",
    StepClock: "the clock of the control plane is not the lab's",
}


def why_not(scenario: Scenario) -> str:
    """Say why a scenario cannot be played on a real cluster; empty for one that can."""
    for step in scenario.steps:
        match step:
            case Arm(fault=fault) if fault.action in _ACTIONS:
                return f"on a real cluster fault {fault.id!r} ({fault.action}) cannot be had: {_ACTIONS[fault.action]}"
            case Do(command=command) if type(command) in _COMMANDS:
                return f"on a real cluster this cannot be had: {_COMMANDS[type(command)]}"
    return ""
