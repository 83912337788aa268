"""A run as a picture: for each task instance its launches, pods, answers and user code on one axis of time."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING, Final

from launchguard.lab.pods import SECOND

if TYPE_CHECKING:
    from collections.abc import Iterator

    from launchguard.lab.evidence import Evidence, Row
    from launchguard.lab.invariants import Finding
    from launchguard.lab.launches import Launch
    from launchguard.lab.pods import Pod

GOOD_CODES: Final = range(200, 300)
# A picture with more lanes than this is no picture.
MOST_TASKS: Final = 12


@dataclass(frozen=True, slots=True)
class Bar:
    """A stretch of time; `kind` is its style. In seconds from the run's begin."""

    start: float
    end: float
    kind: str
    text: str


@dataclass(frozen=True, slots=True)
class Mark:
    """A moment; `label` is drawn beside it, `text` shown on a closer look."""

    at: float
    kind: str
    label: str
    text: str


@dataclass(frozen=True, slots=True)
class Lane:
    """One line of the picture."""

    label: str
    kind: str
    bars: list[Bar] = field(default_factory=list)
    marks: list[Mark] = field(default_factory=list)


@dataclass(frozen=True, slots=True)
class Event:
    """One line of the text beside the picture: who did what to whom."""

    at: float
    who: str
    what: str
    task: str
    kind: str = ""


@dataclass(frozen=True, slots=True)
class Timeline:
    """All of one run."""

    seconds: float
    lanes: list[Lane]
    events: list[Event]
    left_out: int = 0


class _Painter:
    def __init__(self, evidence: Evidence) -> None:
        self._evidence = evidence

    def at(self, t: int | None) -> float:
        """Give a moment in seconds from the begin; the run's end for what never came."""
        return ((self._evidence.ended if t is None else t) - self._evidence.begun) / SECOND

    def deeds(self) -> Lane:
        marks = [Mark(self.at(one.t), "deed", one.what, f"{one.what} {one.target}") for one in self._evidence.deeds]
        return Lane("what was done", "deeds", marks=marks)

    def row(self, task: str) -> Lane:
        rows = [row for row in self._evidence.rows if row.task == task]
        bars = [self._state(row, after.t) for row, after in pairwise(rows)]
        if rows:
            bars.append(self._state(rows[-1], self._evidence.ended))
        return Lane(task, "row", bars)

    def _state(self, row: Row, until: int) -> Bar:
        text = f"try {row.try_number}: {row.state or 'no state'}, by {row.who or 'a worker through the API'}"
        return Bar(self.at(row.t), self.at(until), row.state or "none", text)

    def launch(self, launch: Launch) -> Lane:
        waits = launch.started or launch.over
        text = f"launch {launch.number}, try {launch.try_number}, queued by {launch.who}"
        bars = [Bar(self.at(launch.begun), self.at(waits), "waits", f"{text}: waits")]
        if launch.started is not None:
            ran = f"{text}: taken by {launch.started_by}, {launch.ended_as or 'not over'}"
            bars.append(Bar(self.at(launch.started), self.at(launch.over), "runs", ran))
        refused = [pod for pod in self._evidence.pods if pod.launch == launch.key and pod.created is None]
        marks = [
            Mark(self.at(pod.asked), "refused", "", f"{pod.creator} asks for a pod: {pod.code}") for pod in refused
        ]
        return Lane(f"launch {launch.number}", "launch", bars, marks)

    def pod(self, pod: Pod) -> Lane:
        bars = [Bar(self.at(pod.created), self.at(pod.started or pod.ended), "pending", f"{pod.name} waits")]
        if pod.started is not None:
            over = pod.exited or pod.ended
            worker = f"{pod.name}: worker, exit {'none' if pod.exit_code is None else pod.exit_code}"
            bars.append(Bar(self.at(pod.started), self.at(over), "worker", worker))
        marks = []
        bars += [
            Bar(self.at(code.begun), self.at(code.ended or pod.exited), "code", f"user code: {code.part}")
            for code in self._evidence.code
            if code.pod == pod.name
        ]
        for answer in self._evidence.runs_of(pod.name):
            good = answer.code is not None and answer.code in GOOD_CODES
            text = f"/run: {answer.code or 'no answer'} {answer.reason}"
            marks.append(Mark(self.at(answer.answered), "yes" if good else "no", str(answer.code or "?"), text))
        if pod.failed is not None:
            kind = "deleted" if pod.deleting is not None and pod.deleting <= pod.failed else "failed"
            marks.append(Mark(self.at(pod.failed), kind, "", f"{pod.name} {kind}, exit {pod.exit_code}"))
        return Lane(f"pod …{pod.name[-8:]}", "pod", bars, marks)


def timeline(evidence: Evidence) -> Timeline:
    """Draw a run; tasks with the most launches first where there are too many."""
    painter = _Painter(evidence)
    counts = {task: sum(one.task == task for one in evidence.launches) for task in evidence.tasks()}
    shown = sorted(sorted(counts, key=lambda task: -counts[task])[:MOST_TASKS])
    lanes = [painter.deeds()]
    for task in shown:
        lanes.append(painter.row(task))
        for launch in (one for one in evidence.launches if one.task == task):
            lanes.append(painter.launch(launch))
            created = (pod for pod in evidence.pods if pod.launch == launch.key and pod.created is not None)
            lanes += [painter.pod(pod) for pod in created]
    events = sorted(_events(evidence, painter, set(shown)), key=lambda event: event.at)
    return Timeline(painter.at(evidence.ended), lanes, events, len(counts) - len(shown))


def _events(evidence: Evidence, painter: _Painter, shown: set[str]) -> Iterator[Event]:
    for deed in evidence.deeds:
        yield Event(painter.at(deed.t), "lab", f"{deed.what} {deed.target}", "", "deed")
    for row in (row for row in evidence.rows if row.task in shown):
        change = f"{row.old_state or 'no state'} → {row.state or 'no state'} (try {row.try_number})"
        yield Event(painter.at(row.t), row.who or "?", change, row.task, "row")
    for pod in (pod for pod in evidence.pods if pod.task in shown):
        yield from _pod_events(pod, painter)
    for answer in evidence.answers:
        what = f"/{answer.call} {answer.state}: {answer.code or 'no answer'} {answer.reason}"
        yield Event(painter.at(answer.answered or answer.t), answer.pod or answer.ti, what, "", "answer")
    for code in (code for code in evidence.code if code.task in shown):
        yield Event(painter.at(code.begun), code.pod, f"user code begins: {code.part}", code.task, "code")


def _pod_events(pod: Pod, painter: _Painter) -> Iterator[Event]:
    launch = pod.launch or "no launch"
    yield Event(painter.at(pod.asked), pod.creator, f"asks for pod {pod.name} of {launch}: {pod.code}", pod.task, "pod")
    if pod.failed is not None:
        yield Event(painter.at(pod.failed), "kubelet", f"pod {pod.name} failed, exit {pod.exit_code}", pod.task, "bad")
    if pod.deleting is not None:
        yield Event(painter.at(pod.deleting), "cluster", f"pod {pod.name} is to be deleted", pod.task, "pod")


def moments(findings: tuple[Finding, ...], evidence: Evidence) -> list[tuple[float, Finding]]:
    """Give findings with their moments in seconds from the run's begin."""
    return [((finding.t - evidence.begun) / SECOND, finding) for finding in findings]
