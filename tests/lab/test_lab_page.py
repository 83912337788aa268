"""The report: what is drawn, what is kept, what a terminal shows."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

import msgspec
import pytest
from lab_histories import Story, cleared_while_held, plain

from launchguard.errors import LaunchguardError
from launchguard.lab.checker import judge, read_evidence
from launchguard.lab.labpage import write_page
from launchguard.lab.labreport import Entry, LabReport, load, save
from launchguard.lab.outcome import Outcome, Side
from launchguard.lab.pressure import count
from launchguard.lab.timeline import timeline
from launchguard.views_lab import show_lab

if TYPE_CHECKING:
    from pathlib import Path


def entry(folder: Path, side: Side, outcome: Outcome, story: Story, **more: object) -> Entry:
    path = folder / f"{side}.jsonl"
    records = story.end(20)
    path.write_bytes(b"".join(msgspec.json.encode(one) + b"\n" for one in records))
    made = Entry(
        scenario="quota-clear",
        title="held back & <cleared>",
        report="apache/airflow#69760",
        side=side,
        outcome=outcome,
        judgement=judge(records),
        history=str(path),
        seconds=20,
    )
    return msgspec.structs.replace(made, **more)


def campaign(folder: Path) -> LabReport:
    released = entry(folder, Side.RELEASED, Outcome.REPRODUCED, cleared_while_held(Story()))
    patched = entry(folder, Side.PATCHED, Outcome.OPEN, plain(Story()), missing=("R8",))
    versions = {"released": "core 3.3.0", "patched": "core 3.3.0 + 1 patch"}
    return LabReport(
        track="3.3.0",
        revision="0123456789abcdef",
        series=("one",),
        rules=("R9",),
        versions=versions,
        entries=(released, patched),
    )


def test_a_timeline_has_launches_pods_answers_and_deeds() -> None:
    line = timeline(read_evidence(cleared_while_held(Story()).end(20)))
    assert [lane.label for lane in line.lanes] == [
        "what was done",
        "work",
        "launch 1",
        "pod …pod-old",
        "launch 2",
        "pod …pod-new",
    ]
    deeds, _row, launch, old, _second, new = line.lanes
    assert [(mark.at, mark.label) for mark in deeds.marks] == [(3.0, "clear")]
    assert [mark.kind for mark in launch.marks] == ["refused"]
    assert [(mark.kind, mark.label) for mark in old.marks] == [("no", "404"), ("failed", "")]
    assert [(mark.kind, mark.label) for mark in new.marks] == [("yes", "200")]
    assert [bar.kind for bar in new.bars] == ["pending", "worker", "code"]
    assert [event.at for event in line.events] == sorted(event.at for event in line.events)


def test_the_page_shows_both_sides_and_needs_no_other_file(tmp_path: Path) -> None:
    page = write_page(tmp_path, campaign(tmp_path)).read_text()
    assert page.count("<svg") == 2
    assert "reproduced" in page
    assert "no patch yet for R8; seen: holds" in page
    assert "held back &amp; &lt;cleared&gt;" in page
    assert "no-superseded-failure" in page
    assert not re.findall(r'(?:src|href)="(?!#|https://github\.com/apache)', page)
    assert "signature" not in page


def test_a_run_without_a_history_is_still_on_the_page(tmp_path: Path) -> None:
    report = campaign(tmp_path)
    lost = msgspec.structs.replace(report.entries[0], history="")
    page = write_page(tmp_path, msgspec.structs.replace(report, entries=(lost,))).read_text()
    assert "<svg" not in page
    assert "not run" in page


def test_a_report_is_kept(tmp_path: Path) -> None:
    report = campaign(tmp_path)
    save(tmp_path, report)
    assert load(tmp_path) == report
    assert load(tmp_path).sometimes() == {"clear": 1, "quota": 1}
    (tmp_path / "results.json").write_text("{}")
    with pytest.raises(LaunchguardError, match="make a new one"):
        load(tmp_path)
    with pytest.raises(LaunchguardError, match="no lab report yet"):
        load(tmp_path / "elsewhere")


def test_the_terminal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = campaign(tmp_path)
    assert show_lab(report, tmp_path / "index.html", as_json=False) == 0
    shown = capsys.readouterr().out
    assert re.search(r"quota-clear +reproduced +open \(R8\) +apache/airflow#69760", shown)
    assert show_lab(report, tmp_path / "index.html", as_json=True) == 0
    assert json.loads(capsys.readouterr().out)["report"]["entries"][0]["outcome"] == "reproduced"


def test_counts_of_the_measurement() -> None:
    counts = count(read_evidence(cleared_while_held(Story()).end(20)))
    assert (counts.task_instances, counts.launches, counts.stale_launches, counts.stale_pods) == (1, 2, 1, 1)
    assert (counts.failed_pods, counts.run_404, counts.run_409, counts.retries_burnt, counts.duplicates) == (
        1,
        1,
        0,
        0,
        0,
    )
