"""The short set of scenarios on real Airflow, before and after."""

from __future__ import annotations

from pathlib import Path

import pytest

from launchguard.cli_options import Context
from launchguard.errors import Exit
from launchguard.lab.installs import prepare
from launchguard.lab.outcome import BEFORE_AND_AFTER, Outcome, Side
from launchguard.lab.runner import play_scenarios
from launchguard.lab.scenario import choose, load_scenarios

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.race
@pytest.mark.airflow
@pytest.mark.network
def test_the_short_set_breaks_before_and_not_after(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LAUNCHGUARD_ROOT", str(ROOT))
    context = Context(None)
    ground = prepare(context.project, context.fetch("sdist", None))
    report = play_scenarios(ground, BEFORE_AND_AFTER, choose(load_scenarios(), (), short=True))
    assert report.code is Exit.GOOD, [(one.scenario, one.side, one.outcome, one.judgement) for one in report.entries]
    released = [entry.outcome for entry in report.entries if entry.side is Side.RELEASED]
    assert set(released) == {Outcome.REPRODUCED}
