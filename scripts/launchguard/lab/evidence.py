"""One run's history, read into what invariants speak of: rows, launches, pods, answers, user code."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final

from launchguard.lab.history import Kind

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from launchguard.lab.launches import Launch
    from launchguard.lab.pods import Pod

Record = dict[str, Any]

ENDS: Final = frozenset({"success", "failed", "skipped", "upstream_failed", "removed"})
"""A task instance in one of these is done."""


@dataclass(frozen=True, slots=True)
class Row:
    """One change of a task instance's row.

    Args:
        t: nanoseconds of the history's clock.
        ti: the id after the change; a retry and a clear give a new one.
        old_ti: the id before it.
        task: `task_id`, with the map index where there is one.
        who: the component that made the change.
        hostname: of the worker that the row names: its pod's name.
    """

    t: int
    op: str
    task: str
    ti: str
    old_ti: str
    try_number: int
    state: str
    old_state: str
    token: str = ""
    job: str = ""
    hostname: str = ""
    who: str = ""


@dataclass(frozen=True, slots=True)
class Answer:
    """A worker's `/run` or `/state`, and what it was told; `code` is None when it got no answer."""

    t: int
    call: str
    ti: str
    pod: str
    code: int | None
    reason: str = ""
    state: str = ""
    answered: int | None = None
    token: str = ""


@dataclass(frozen=True, slots=True)
class UserCode:
    """One piece of user code of a try: `execute`, or what goes on after a deferral."""

    task: str
    ti: str
    try_number: int
    part: str
    pod: str
    begun: int
    ended: int | None


@dataclass(frozen=True, slots=True)
class Deed:
    """What the scenario did, as `clear` of a task or `kill` of a component."""

    t: int
    what: str
    target: str


@dataclass(frozen=True, slots=True)
class Evidence:
    """All that a run left behind, by kind, in the order of time."""

    run_id: str
    begun: int
    ended: int
    rows: Sequence[Row]
    launches: Sequence[Launch]
    pods: Sequence[Pod]
    answers: Sequence[Answer]
    code: Sequence[UserCode]
    deeds: Sequence[Deed]
    fired: Mapping[str, int] = field(default_factory=dict)

    def pod(self, name: str) -> Pod | None:
        return next((pod for pod in self.pods if pod.name == name), None)

    def launch_of(self, pod: Pod) -> Launch | None:
        return next((launch for launch in self.launches if launch.key == pod.launch), None)

    def runs_of(self, pod: str) -> list[Answer]:
        return [answer for answer in self.answers if answer.pod == pod and answer.call == "run"]

    def tasks(self) -> list[str]:
        return sorted({row.task for row in self.rows})


def task_name(task_id: str, map_index: int) -> str:
    """Name a task instance within its run.

    >>> task_name("work", -1), task_name("many", 3)
    ('work', 'many[3]')
    """
    return task_id if map_index < 0 else f"{task_id}[{map_index}]"


def rows_of(records: Iterable[Record]) -> list[Row]:
    return [
        Row(
            t=one["t"],
            op=one["op"],
            task=task_name(one["task_id"], one["map_index"]),
            ti=one["ti"],
            old_ti=one["old_ti"] or one["ti"],
            try_number=one["try"],
            state=one["state"] or "",
            old_state=one["old_state"] or "",
            token=one["token"] or "",
            job=str(one["job"] or ""),
            hostname=one["hostname"] or "",
            who=one["who"] or "",
        )
        for one in records
        if one["kind"] == Kind.ROW
    ]


def answers_of(records: Sequence[Record]) -> list[Answer]:
    answered = {one["req"]: one for one in records if one["kind"] == Kind.EXECUTION_ANSWER}
    found = []
    for asked in records:
        if asked["kind"] == Kind.EXECUTION_REQUEST:
            answer = answered.get(asked["req"], {})
            found.append(
                Answer(
                    t=asked["t"],
                    call=asked["call"],
                    ti=asked["ti"],
                    pod=asked.get("pod", ""),
                    code=answer.get("code"),
                    reason=answer.get("reason", ""),
                    state=asked.get("state", ""),
                    answered=answer.get("t"),
                    token=asked.get("token", ""),
                )
            )
    return found


def code_of(records: Sequence[Record]) -> list[UserCode]:
    ends = {(one["src"], one["part"]): one["t"] for one in records if one["kind"] == Kind.USER_END}
    return [
        UserCode(
            task=task_name(one["task_id"], one["map_index"]),
            ti=one["ti"],
            try_number=one["try"],
            part=one["part"],
            pod=one["pod"],
            begun=one["t"],
            ended=ends.get((one["src"], one["part"])),
        )
        for one in records
        if one["kind"] == Kind.USER_BEGIN
    ]


def deeds_of(records: Iterable[Record]) -> list[Deed]:
    return [Deed(one["t"], one["what"], one["target"]) for one in records if one["kind"] == Kind.DEED]
