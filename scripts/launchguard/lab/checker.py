"""Judges one history: the invariants hold, or are broken, or nothing can be told."""

from __future__ import annotations

import traceback
from collections import Counter, defaultdict
from datetime import datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any

import msgspec

from launchguard.lab.evidence import Evidence, Record, answers_of, code_of, deeds_of, rows_of
from launchguard.lab.history import Kind
from launchguard.lab.invariants import INVARIANTS, Finding
from launchguard.lab.launches import launches_of
from launchguard.lab.pods import SECOND, assign, pods_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence


class Verdict(StrEnum):
    """What a history shows."""

    HOLDS = "holds"
    BROKEN = "broken"
    CANNOT_TELL = "can't tell"


class Judgement(msgspec.Struct, frozen=True):
    """A verdict and its grounds.

    Args:
        findings: where invariants did not hold.
        excused: findings that do not count, each with the reason.
        doubts: why nothing can be told.
        fired: how often each kind of fault, command and deed really happened.
    """

    verdict: Verdict
    findings: tuple[Finding, ...] = ()
    excused: tuple[Finding, ...] = ()
    doubts: tuple[str, ...] = ()
    fired: dict[str, int] = {}

    def broken(self) -> set[str]:
        return {finding.invariant for finding in self.findings}


def judge(records: Sequence[Record], excuses: Mapping[str, str] | None = None) -> Judgement:
    """Judge a history; it never raises, since a checker that fails has shown nothing.

    Args:
        records: of one scenario, in any order.
        excuses: invariants whose findings the scenario brings about itself, and why.
    """
    try:
        doubts = list(_doubts_about(records))
        if doubts:
            return Judgement(Verdict.CANNOT_TELL, doubts=tuple(doubts))
        evidence = read_evidence(records)
        doubts = list(_doubts_of(evidence, records))
        found = [finding for one in INVARIANTS for finding in one.findings(evidence)]
    except Exception:  # noqa: BLE001  whatever it is: no verdict, and the reason is shown
        return Judgement(Verdict.CANNOT_TELL, doubts=(f"the checker failed: {traceback.format_exc(limit=-3)}",))
    return _judgement(found, excuses or {}, doubts, dict(evidence.fired))


def _judgement(found: list[Finding], excuses: Mapping[str, str], doubts: list[str], fired: dict[str, int]) -> Judgement:
    named = [
        Finding(one.invariant, one.task, one.t, one.text, one.excused or excuses.get(one.invariant, ""))
        for one in sorted(found, key=lambda one: one.t)
    ]
    findings = tuple(one for one in named if not one.excused)
    excused = tuple(one for one in named if one.excused)
    verdict = Verdict.CANNOT_TELL if doubts else Verdict.BROKEN if findings else Verdict.HOLDS
    return Judgement(verdict, findings, excused, tuple(doubts), fired)


def read_evidence(records: Sequence[Record]) -> Evidence:
    """Read a whole history."""
    ordered = sorted(records, key=lambda one: (one["t"], one["seq"]))
    begin = next(one for one in ordered if one["kind"] == Kind.SCENARIO_BEGIN)
    end = next(one for one in ordered if one["kind"] == Kind.SCENARIO_END)
    offset = int(datetime.fromisoformat(begin["wall"]).timestamp() * SECOND) - begin["t"]
    rows = rows_of(ordered)
    launches = launches_of(rows)
    return Evidence(
        run_id=begin["run_id"],
        begun=begin["t"],
        ended=end["t"],
        rows=rows,
        launches=launches,
        pods=assign(pods_of(ordered, begin["run_id"], offset), launches),
        answers=answers_of(ordered),
        code=code_of(ordered),
        deeds=deeds_of(ordered),
        fired=Counter(name for one in ordered if (name := _ordeal(one))),
    )


def _ordeal(one: Record) -> str:
    """Name what befell Airflow, where a record tells of it: a fault, a command to the cluster, a deed."""
    match one["kind"]:
        case Kind.FAULT_FIRED:
            return str(one["action"])
        case Kind.COMMAND:
            return str(one["command"]["do"])
        case Kind.DEED:
            return str(one["what"])
    return ""


def _doubts_about(records: Sequence[Record]) -> Iterator[str]:
    """Tell why a history is not whole, before it is read."""
    kinds = Counter(one["kind"] for one in records)
    for kind in (Kind.SCENARIO_BEGIN, Kind.SCENARIO_END, Kind.ROWS):
        if kinds[kind] != 1:
            yield f"the history has {kinds[kind]} records {kind!s}, not one"
    for one in records:
        if one["kind"] == Kind.BUG:
            yield f"the stand-in failed: {one.get('error', one)}"
        elif one["kind"] == Kind.SCENARIO_END and one["trouble"]:
            yield f"the scenario was not played to its end: {one['trouble']}"
        elif one["kind"] == Kind.ROWS and one["count"] != kinds[Kind.ROW]:
            yield f"the history has {kinds[Kind.ROW]} of {one['count']} row changes"
    yield from _gaps(records)


def _gaps(records: Sequence[Record]) -> Iterator[str]:
    numbers: dict[str, list[int]] = defaultdict(list)
    for one in records:
        numbers[one["src"]].append(one["seq"])
    for source, mine in numbers.items():
        if len(mine) != max(mine) - min(mine) + 1:
            yield f"records of {source} are missing between {min(mine)} and {max(mine)}"


def _doubts_of(evidence: Evidence, records: Sequence[Record]) -> Iterator[str]:
    """Tell what the history does not explain."""
    if not evidence.rows:
        yield "no row of a task instance ever changed"
    for pod in evidence.pods:
        if pod.created is not None and not pod.launch:
            yield f"pod {pod.name} fits no launch of {pod.task}"
        if pod.created is not None and pod.ended is None:
            yield f"pod {pod.name} of {pod.task} had not come to its end when the run was given up"
    for answer in evidence.answers:
        silent = not any(code.pod == answer.pod for code in evidence.code)
        if answer.call == "state" and answer.state == "success" and answer.pod and silent:
            yield f"the worker in pod {answer.pod} reported success, but its user code left no trace"
    begin: dict[str, Any] = next(one for one in records if one["kind"] == Kind.SCENARIO_BEGIN)
    fired = Counter(one["rule"] for one in records if one["kind"] == Kind.FAULT_FIRED)
    for rule in begin.get("must_strike", ()):
        if not fired[rule]:
            yield f"the fault {rule!r}, which the scenario is about, never struck"
