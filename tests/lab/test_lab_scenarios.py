"""Scenario files, and the random ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from launchguard.errors import LaunchguardError
from launchguard.lab.actions import ACTIONS
from launchguard.lab.airflow.deployment import DAGS
from launchguard.lab.faults import FaultEngine
from launchguard.lab.fuzz import EVERY_RULE, random_scenario
from launchguard.lab.history import History
from launchguard.lab.pressure import pressure_scenario
from launchguard.lab.scenario import FOLDER, Scenario, choose, load_scenario, load_scenarios
from launchguard.lab.steps import Act, Arm

if TYPE_CHECKING:
    from pathlib import Path

SCENARIOS = load_scenarios()
MADE = [random_scenario(7, number) for number in range(60)]


@pytest.mark.parametrize("scenario", [*SCENARIOS, pressure_scenario(200)], ids=lambda one: one.name)
def test_each_scenario_is_whole(scenario: Scenario, tmp_path: Path) -> None:
    engine = FaultEngine(0, History(tmp_path / "history.jsonl", "test"))
    for step in scenario.steps:
        if isinstance(step, Arm):
            engine.arm(step.fault)
    assert f"def {scenario.dag}()" in next(DAGS.glob("*.py")).read_text()
    assert scenario.title
    # A canary needs to know that its fault struck.
    assert not scenario.released_breaks or scenario.must_strike
    assert bool(scenario.needs) == bool(scenario.released_breaks)


def test_the_stories_that_were_asked_for_are_there() -> None:
    names = {one.name for one in SCENARIOS}
    assert {"happy-path", "quota-clear", "quota-retry", "quota-second-scheduler"} <= names
    assert {"waiting-pod-cleared", "waiting-pod-marked-success", "stuck-requeue", "deferral-resume"} <= names
    assert {"drain-before-start", "scheduler-killed", "paused-scheduler", "lost-create-response"} <= names


def test_choosing() -> None:
    assert choose(SCENARIOS, (), short=False) == SCENARIOS
    assert 0 < len(choose(SCENARIOS, (), short=True)) < len(SCENARIOS)
    assert [one.name for one in choose(SCENARIOS, ("quota-clear", "happy-path"), short=True)] == [
        "quota-clear",
        "happy-path",
    ]
    with pytest.raises(LaunchguardError, match="there is no scenario 'nosuch'; there are: deferral-resume"):
        choose(SCENARIOS, ("nosuch",), short=False)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ('dag = "solo"', "missing required field `steps`"),
        ('released_breaks = ["nosuch"]', "no invariant 'nosuch'"),
        ('needs = ["R20"]', "'R20' is no rule"),
        ('must_strike = ["x"]', "no step arms 'x'"),
        ("nosuch = 1", "unknown field `nosuch`"),
    ],
)
def test_what_is_wrong_in_a_file_is_named(change: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "it.toml"
    text = (FOLDER / "happy-path.toml").read_text()
    path.write_text(f"{change}\n" + (text if "dag" not in change else 'title = "it"\n'))
    with pytest.raises(LaunchguardError, match=message) as raised:
        load_scenario(path)
    assert str(path) in str(raised.value)


def test_random_scenarios_replay() -> None:
    assert [random_scenario(7, number) for number in range(60)] == MADE
    assert random_scenario(8, 0).steps != MADE[0].steps
    assert MADE[0].needs == EVERY_RULE


def test_random_scenarios_use_every_fault_that_they_may(tmp_path: Path) -> None:
    used = set()
    for scenario in MADE:
        engine = FaultEngine(0, History(tmp_path / "history.jsonl", "test"))
        for step in scenario.steps:
            if isinstance(step, Arm):
                engine.arm(step.fault)
                used.add(step.fault.action)
    assert len(used) >= 15
    assert used <= set(ACTIONS)


def test_a_random_outage_ends() -> None:
    acts = [step for scenario in MADE for step in scenario.steps if isinstance(step, Act)]
    assert {one.act for one in acts} == {"kill", "start", "pause", "resume"}
    assert sum(one.act in {"kill", "pause"} for one in acts) == sum(one.act in {"start", "resume"} for one in acts)


def test_the_measurement_has_as_many_tasks_as_asked_for() -> None:
    assert pressure_scenario(17).settings()["LAUNCHGUARD_LAB_MANY"] == "17"


def test_random_scenarios_share_one_deployment() -> None:
    assert len({scenario.site for scenario in MADE}) == 1
