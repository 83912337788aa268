"""The measurement: many task instances under a quota, cleared while they wait; what it costs, in counts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from launchguard.lab.actions import Action
from launchguard.lab.faults import Match, Rule
from launchguard.lab.invariants import INVARIANTS
from launchguard.lab.scenario import Scenario
from launchguard.lab.steps import Arm, AwaitFault, ClearQueued, Disarm, Sleep, Step, Trigger

if TYPE_CHECKING:
    from launchguard.lab.evidence import Evidence

NOT_FOUND, CONFLICT, FORBIDDEN = 404, 409, 403


class Counts(msgspec.Struct, frozen=True, kw_only=True):
    """What one side's run came to.

    Args:
        stale_launches: launches that were over before any worker took them.
        stale_pods: pods that were made for a launch that was over.
        failed_pods: pods that failed without having been deleted.
        retries_burnt: tries that failed without user code.
        duplicates: user code of a try that ran again.
    """

    task_instances: int
    launches: int
    stale_launches: int
    stale_pods: int
    failed_pods: int
    run_404: int
    run_409: int
    run_403: int
    retries_burnt: int
    duplicates: int
    seconds: float


def pressure_scenario(task_instances: int) -> Scenario:
    """Make the scenario: two refusals in three while batches of what is queued are cleared."""
    quota = Rule(
        id="quota",
        action=Action.QUOTA,
        match=Match(verbs=("create",), resource="pods"),
        probability=2 / 3,
    )
    waves: list[Step] = []
    for _ in range(max(2, task_instances // 20)):
        waves += [Sleep(seconds=4), ClearQueued(task="work", at_most=8)]
    return Scenario(
        name="pressure",
        title=f"{task_instances} task instances under a quota, cleared while they wait, with two schedulers",
        report="apache/airflow#69760",
        dag="many",
        many=task_instances,
        steps=(Arm(fault=quota), Trigger(), AwaitFault(fault="quota", within=120), *waves, Disarm(fault="quota")),
        needs=("R3", "R8", "R9", "R12", "R13"),
        released_breaks=("no-superseded-failure",),
        must_strike=("quota",),
        # A backlog of pods on one small node must not look stuck.
        airflow={"scheduler.task_queued_timeout": "3600", "core.parallelism": "64"},
        settle=30.0 * task_instances,
    )


def count(evidence: Evidence) -> Counts:
    """Count what a run came to."""
    codes = [answer.code for answer in evidence.answers if answer.call == "run"]
    found = {one.name: [it for it in one.findings(evidence) if not it.excused] for one in INVARIANTS}
    launches = {launch.key: launch for launch in evidence.launches}
    made = [pod for pod in evidence.pods if pod.created is not None and pod.launch]
    return Counts(
        task_instances=len(evidence.tasks()),
        launches=len(launches),
        stale_launches=sum(one.started is None and one.over is not None for one in launches.values()),
        stale_pods=sum(launches[pod.launch].is_over(pod.created or 0) for pod in made),
        failed_pods=sum(pod.failed is not None and (pod.deleting or pod.failed) >= pod.failed for pod in made),
        run_404=codes.count(NOT_FOUND),
        run_409=codes.count(CONFLICT),
        run_403=codes.count(FORBIDDEN),
        retries_burnt=len(found["no-retry-burnt"]),
        duplicates=len(found["user-code-once"]),
        seconds=round((evidence.ended - evidence.begun) / 1e9, 1),
    )
