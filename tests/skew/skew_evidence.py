"""What a run shows of one task's launches."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from skew_table import Ending

if TYPE_CHECKING:
    from launchguard.lab.evidence import Evidence
    from launchguard.lab.pods import Pod

NO_EXIT: Final = -1
"""Stands for the exit code of a pod that ran nothing."""


def pods_of_task(evidence: Evidence, task: str) -> list[Pod]:
    """Give the pods of a task that were created, in the order of their creation."""
    return [pod for pod in evidence.pods if pod.task == task and pod.created is not None]


def ending_of(evidence: Evidence, pod: Pod) -> Ending:
    told = [f"{answer.code} {answer.reason}".strip() for answer in evidence.runs_of(pod.name)]
    return Ending(" then ".join(told), NO_EXIT if pod.exit_code is None else pod.exit_code)


def ran_code(evidence: Evidence, pod: Pod) -> bool:
    return any(code.pod == pod.name for code in evidence.code)


def states_of(evidence: Evidence, task: str) -> list[str]:
    """Give the states that a task's row had, one after the other."""
    states = [row.state for row in evidence.rows if row.task == task]
    return [state for before, state in zip(["", *states], states, strict=False) if state != before]
