"""The lab's HTML page: one file, no scripts from elsewhere, the sides side by side."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from jinja2 import Environment, PackageLoader, StrictUndefined

from launchguard.lab.checker import read_evidence
from launchguard.lab.history import read_history
from launchguard.lab.invariants import INVARIANTS
from launchguard.lab.outcome import Outcome
from launchguard.lab.timeline import Event, Timeline, moments, timeline

if TYPE_CHECKING:
    from launchguard.lab.invariants import Finding
    from launchguard.lab.labreport import Entry, LabReport
    from launchguard.lab.outcome import Side

STYLES: Final = {
    Outcome.REPRODUCED: "asked",
    Outcome.NOT_REPRODUCING: "bad",
    Outcome.HOLDS: "good",
    Outcome.BROKEN: "bad",
    Outcome.OPEN: "open",
    Outcome.CANNOT_TELL: "unsure",
}
# Only so much text stands beside a picture; the history has the rest.
_MOST_EVENTS: Final = 400


@dataclass(frozen=True, slots=True)
class Panel:
    """One side of a scenario, ready to be drawn."""

    entry: Entry
    style: str
    line: Timeline | None
    findings: list[tuple[float, Finding]]
    excused: list[tuple[float, Finding]]
    events: list[Event]


def write_page(folder: Path, report: LabReport) -> Path:
    """Write `index.html`, which needs no other file."""
    environment = Environment(
        loader=PackageLoader("launchguard", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    rows = [(name, [_panel(report, name, side) for side in report.sides()]) for name in report.scenarios()]
    words = {0: "good", 1: "problems found", 2: "can't tell", 130: "interrupted"}
    page = folder / "index.html"
    html = environment.get_template("lab.html").render(
        report=report,
        rows=rows,
        verdict=words[report.code],
        verdict_style={0: "good", 1: "bad"}.get(report.code, "unsure"),
        invariants=INVARIANTS,
        sides=report.sides(),
        sometimes=report.sometimes(),
    )
    page.write_text(html, encoding="utf-8")
    return page


def _panel(report: LabReport, scenario: str, side: Side) -> Panel | None:
    entry = report.entry(scenario, side)
    if entry is None:
        return None
    style = STYLES[entry.outcome]
    try:
        evidence = read_evidence(list(read_history(Path(entry.history))))
    except Exception:  # noqa: BLE001  a history that cannot be read has no picture; the entry says why
        return Panel(entry, style, None, [], [], [])
    line = timeline(evidence)
    judged = entry.judgement
    return Panel(
        entry,
        style,
        line,
        moments(judged.findings, evidence),
        moments(judged.excused, evidence),
        line.events[:_MOST_EVENTS],
    )
