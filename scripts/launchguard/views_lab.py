"""How the lab's results look in a terminal; every function gives the exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from launchguard import console
from launchguard.errors import Exit
from launchguard.lab.outcome import Outcome

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

    from launchguard.lab.labreport import Entry, LabReport
    from launchguard.lab.pressure import Counts
    from launchguard.lab.scenario import Scenario

_COLOURS = {
    Outcome.REPRODUCED: "blue",
    Outcome.HOLDS: "green",
    Outcome.NOT_REPRODUCING: "red",
    Outcome.BROKEN: "red",
    Outcome.OPEN: "magenta",
    Outcome.CANNOT_TELL: "yellow",
}
_MOST_LINES = 3


def show_lab(report: LabReport, page: Path, *, as_json: bool) -> int:
    if as_json:
        console.show_json({"code": report.code, "report": report})
        return report.code
    table = Table("scenario", *report.sides(), "report", box=None, pad_edge=False)
    for name in report.scenarios():
        entries = [report.entry(name, side) for side in report.sides()]
        about = next((entry.report for entry in entries if entry is not None), "")
        table.add_row(name, *(_cell(entry) for entry in entries), about)
    console.OUT.print(table)
    for entry in report.entries:
        _tell_grounds(entry)
    sometimes = report.sometimes()
    if sometimes:
        console.say("what really happened: " + ", ".join(f"{action} {times}" for action, times in sometimes.items()))
    console.say(f"pictures: {page}")
    return report.code


def _cell(entry: Entry | None) -> str:
    if entry is None:
        return "-"
    missing = f" ({' '.join(entry.missing)})" if entry.outcome is Outcome.OPEN else ""
    return f"[{_COLOURS[entry.outcome]}]{entry.outcome}[/]{missing}"


def _tell_grounds(entry: Entry) -> None:
    """Say why, where a run is a problem or nothing could be told; a reproduced or open one is told in the page."""
    if entry.outcome in {Outcome.HOLDS, Outcome.REPRODUCED, Outcome.OPEN}:
        return
    judged = entry.judgement
    lines = [*judged.doubts, *(f"{one.invariant}: {one.task}: {one.text}" for one in judged.findings)]
    if entry.outcome is Outcome.NOT_REPRODUCING and not lines:
        lines = ["nothing broke, so the patched run proves nothing"]
    for line in lines[:_MOST_LINES]:
        console.warn(f"{entry.scenario} {entry.side}: {line}")


def show_scenarios(scenarios: Sequence[Scenario], rules: frozenset[str], *, as_json: bool) -> int:
    if as_json:
        console.show_json(scenarios)
        return Exit.GOOD
    for one in scenarios:
        about = [one.report] if one.report else []
        about += [f"needs {' '.join(rule if rule in rules else f'{rule}?' for rule in one.needs)}"] if one.needs else []
        about += (
            [f"released breaks {', '.join(one.released_breaks)}"] if one.released_breaks else ["holds on both sides"]
        )
        console.say(f"{one.name}{' (short set)' if one.short else ''}: {one.title}\n    {'; '.join(about)}")
    console.say("a rule with ? has no patch in the series yet: such a scenario is open, not passed")
    return Exit.GOOD


def show_counts(counts: Mapping[str, Counts], report: LabReport, *, as_json: bool) -> int:
    if as_json:
        console.show_json({"code": report.code, "counts": counts, "report": report})
        return report.code
    table = Table("", *counts, box=None, pad_edge=False)
    for name in next(iter(counts.values())).__struct_fields__ if counts else ():
        table.add_row(name.replace("_", " "), *(str(getattr(one, name)) for one in counts.values()))
    console.OUT.print(table)
    for entry in report.entries:
        _tell_grounds(entry)
    return report.code
