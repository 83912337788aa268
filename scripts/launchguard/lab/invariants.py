"""What must hold in every run, as data; none of these knows which scenario it judges."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from launchguard.lab.evidence import ENDS

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from launchguard.lab.evidence import Evidence, Row, UserCode
    from launchguard.lab.pods import Pod

EXPIRED: Final = 403
EXPIRED_JWT: Final = "its workload JWT had expired (403): no answer can make that worker exit 0"
WORKER_LOST: Final = "its worker had started when its pod was taken away, which is a task that fails, as ever"
CLEARED_WHILE_RUNNING: Final = "its user cleared it when its worker had started, which ends the try, as ever"


@dataclass(frozen=True, slots=True)
class Finding:
    """Where an invariant did not hold.

    Args:
        t: when, on the history's clock.
        excused: why it does not count, where it does not.
    """

    invariant: str
    task: str
    t: int
    text: str
    excused: str = ""


@dataclass(frozen=True, slots=True)
class Invariant:
    """What must hold; `look` gives the places where it does not."""

    name: str
    sentence: str
    look: Callable[[Evidence], Iterator[tuple[str, int, str, str]]]

    def findings(self, evidence: Evidence) -> list[Finding]:
        return [Finding(self.name, task, t, text, excused) for task, t, text, excused in self.look(evidence)]


_Found = tuple[str, int, str, str]


def _user_code_once(evidence: Evidence) -> Iterator[_Found]:
    runs: dict[tuple[str, int, str], list[UserCode]] = defaultdict(list)
    for code in evidence.code:
        runs[code.ti, code.try_number, code.part].append(code)
    for code, *more in runs.values():
        for again in more:
            text = f"{code.part} of try {code.try_number} ran in pod {code.pod} and again in {again.pod}"
            yield code.task, again.begun, text, ""


def _no_code_for_superseded(evidence: Evidence) -> Iterator[_Found]:
    for code in evidence.code:
        pod = evidence.pod(code.pod)
        if pod is None:
            continue
        launch = evidence.launch_of(pod)
        started = next((one for one in evidence.launches if one.started_by == pod.name), None)
        took = started is not None and launch is not None and started.key != launch.key
        late = started is None and launch is not None and launch.is_over(code.begun)
        if took or late:
            whose = f"as launch {started.number}" if started is not None else "that was over"
            yield code.task, code.begun, f"pod {pod.name} of launch {pod.launch} ran user code {whose}", ""


def _no_retry_without_code(evidence: Evidence) -> Iterator[_Found]:
    for row in evidence.rows:
        if row.state not in {"up_for_retry", "failed"} or row.old_state == row.state or _was_marked(evidence, row):
            continue
        if any(code.ti == row.old_ti and code.begun < row.t for code in evidence.code):
            continue
        text = f"try {row.try_number} became {row.state} by {row.who} and never ran user code"
        yield row.task, row.t, text, _why_a_try_may_end(evidence, row)


def _why_a_try_may_end(evidence: Evidence, row: Row) -> str:
    if row.old_state == "restarting":
        return CLEARED_WHILE_RUNNING
    mine = [pod for pod in evidence.pods if pod.ti == row.old_ti and pod.evicted and pod.started is not None]
    return WORKER_LOST if any(pod.deleting is not None and pod.deleting < row.t for pod in mine) else ""


def _was_marked(evidence: Evidence, row: Row) -> bool:
    return any(deed.what == "mark" and deed.target == row.task and deed.t <= row.t for deed in evidence.deeds)


def _no_failed_pod_for_superseded(evidence: Evidence) -> Iterator[_Found]:
    for pod in evidence.pods:
        launch = evidence.launch_of(pod)
        if pod.failed is None or launch is None or not launch.is_over(pod.failed):
            continue
        deleted = pod.deleting is not None and pod.deleting <= pod.failed
        if deleted or any(code.pod == pod.name for code in evidence.code):
            continue
        codes = [answer.code for answer in evidence.runs_of(pod.name) if answer.code is not None]
        told = f"/run {', '.join(map(str, codes))}" if codes else "no /run"
        text = f"pod {pod.name} of launch {pod.launch}, over as {launch.ended_as}, failed: {told}, exit {pod.exit_code}"
        yield pod.task, pod.failed, text, EXPIRED_JWT if EXPIRED in codes else ""


def _live_launch_untouched(evidence: Evidence) -> Iterator[_Found]:
    for row in evidence.rows:
        ends = row.old_state == "running" and row.state in {"up_for_retry", "failed", "scheduled", "queued"}
        if ends and "scheduler" in row.who:
            for code in _runs_at(evidence, row):
                text = f"{row.who} made try {row.try_number} {row.state} while its user code ran in pod {code.pod}"
                yield row.task, row.t, text, ""


def _runs_at(evidence: Evidence, row: Row) -> Iterator[UserCode]:
    for code in evidence.code:
        pod = evidence.pod(code.pod)
        lives = pod is not None and (pod.exited is None or pod.exited > row.t) and (pod.deleting or row.t) >= row.t
        if code.ti == row.old_ti and code.begun < row.t < (code.ended or evidence.ended) and lives:
            yield code


def _one_pod_per_launch(evidence: Evidence) -> Iterator[_Found]:
    pods: dict[str, list[Pod]] = defaultdict(list)
    for pod in evidence.pods:
        if pod.created is not None and pod.launch:
            pods[pod.launch].append(pod)
    for launch, mine in pods.items():
        for first, second in pairwise(sorted(mine, key=lambda pod: pod.created or 0)):
            over = min(first.ended or evidence.ended, first.deleting or evidence.ended)
            if (second.created or 0) < over:
                text = f"pods {first.name} and {second.name} of launch {launch} were alive together"
                yield second.task, second.created or 0, text, ""


def _no_task_stuck(evidence: Evidence) -> Iterator[_Found]:
    last = {row.task: row for row in evidence.rows}
    for row in last.values():
        if row.state not in ENDS and row.op != "DELETE":
            yield row.task, evidence.ended, f"still {row.state or 'without a state'} when the run was given up", ""


def _ends_once(evidence: Evidence) -> Iterator[_Found]:
    ends: dict[str, list[Row]] = defaultdict(list)
    for row in evidence.rows:
        if row.state in ENDS | {"up_for_retry"} and row.state != row.old_state and row.op != "DELETE":
            ends[row.old_ti].append(row)
    for first, *more in ends.values():
        for again in more:
            if again.old_state in ENDS and not _was_marked(evidence, again):
                text = f"try {again.try_number} had ended as {first.state}, then became {again.state} by {again.who}"
                yield again.task, again.t, text, ""


INVARIANTS: Final = (
    Invariant("user-code-once", "User code of a try runs at most once.", _user_code_once),
    Invariant("no-superseded-code", "No user code runs for a superseded launch.", _no_code_for_superseded),
    Invariant("no-retry-burnt", "No retry is used up by a try that never ran user code.", _no_retry_without_code),
    Invariant("no-superseded-failure", "No pod of a superseded launch fails.", _no_failed_pod_for_superseded),
    Invariant("live-launch-untouched", "Nothing takes a running try from its worker.", _live_launch_untouched),
    Invariant("one-pod-per-launch", "A launch has at most one live pod.", _one_pod_per_launch),
    Invariant("no-task-stuck", "Every task instance comes to its end.", _no_task_stuck),
    Invariant("ends-once", "A try ends once.", _ends_once),
)
NAMES: Final = frozenset(one.name for one in INVARIANTS)
