"""Launches of task instances, told from the changes of their rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable

    from launchguard.lab.evidence import Row

LIVE: Final = frozenset({"queued", "running", "restarting"})
"""While the row is in one of these, its launch goes on."""


@dataclass(frozen=True, slots=True)
class Launch:
    """One change of a row to queued, and what came of it.

    Args:
        number: counts the launches of this task in the run, over all tries.
        begun: when the row became queued.
        over: when the row left its launch; None while it goes on.
        ended_as: the state that the row took then, `cleared` for none, `relaunched` where it was queued anew.
        who: the scheduler that queued it.
        started: when the row became running.
        started_by: the pod whose worker made it so.
    """

    number: int
    task: str
    ti: str
    try_number: int
    token: str
    begun: int
    who: str = ""
    over: int | None = None
    ended_as: str = ""
    started: int | None = None
    started_by: str = ""

    @property
    def key(self) -> str:
        return f"{self.task}#{self.number}"

    def is_over(self, t: int) -> bool:
        return self.over is not None and self.over < t


def launches_of(rows: Iterable[Row]) -> list[Launch]:
    """Give all launches, in the order of their beginning; `rows` are in the order of time."""
    by_task: dict[str, list[Launch]] = {}
    for row in rows:
        mine = by_task.setdefault(row.task, [])
        if mine and mine[-1].over is None:
            mine[-1] = _go_on(mine[-1], row)
        if _begins(row):
            number = len(mine) + 1
            mine.append(Launch(number, row.task, row.ti, row.try_number, row.token, row.t, row.who))
    return sorted((one for mine in by_task.values() for one in mine), key=lambda launch: launch.begun)


def _begins(row: Row) -> bool:
    moved = row.old_state != "queued" or row.ti != row.old_ti or row.op == "INSERT"
    return row.op != "DELETE" and row.state == "queued" and moved


def _go_on(launch: Launch, row: Row) -> Launch:
    if _begins(row):
        return replace(launch, over=row.t, ended_as="relaunched")
    if row.op == "DELETE" or row.state not in LIVE or row.ti != launch.ti:
        return replace(launch, over=row.t, ended_as=row.state or "cleared")
    if row.state == "running" and launch.started is None:
        return replace(launch, started=row.t, started_by=row.hostname)
    # Released code writes other things to the token's column; only the first token counts.
    return replace(launch, token=launch.token or row.token)
