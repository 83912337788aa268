"""Scenario files, and the random ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from launchguard.errors import LaunchguardError
from launchguard.lab.actions import ACTIONS, Action
from launchguard.lab.airflow.deployment import DAGS
from launchguard.lab.faults import FaultEngine, Rule
from launchguard.lab.fuzz import random_scenario
from launchguard.lab.history import History
from launchguard.lab.plan import ApiDown
from launchguard.lab.pressure import pressure_scenario
from launchguard.lab.scenario import FOLDER, Scenario, choose, load_scenario, load_scenarios
from launchguard.lab.steps import Act, Arm, Do, Step

if TYPE_CHECKING:
    from collections.abc import Callable
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


def _is_impatient(scenario: Scenario) -> bool:
    return "scheduler.task_queued_timeout" in scenario.airflow


def _loses_an_answer(step: Step) -> bool:
    match step:
        case Arm(fault=Rule(action=Action.LOST_RESPONSE | Action.ERROR_AFTER)) | Do(command=ApiDown()):
            return True
    return False


@pytest.mark.parametrize(
    ("rule", "told_by"),
    [
        ("R14", lambda one: _is_impatient(one) or any(isinstance(step, Act) for step in one.steps)),
        ("R16", lambda one: any(_loses_an_answer(step) for step in one.steps)),
        ("R17", _is_impatient),
    ],
)
def test_a_random_scenario_names_the_rules_that_its_ordeals_need(
    rule: str, told_by: Callable[[Scenario], bool]
) -> None:
    """One that needs no rule without a patch counts: there must be many of those."""
    needing = [one for one in MADE if rule in one.needs]
    assert needing == [one for one in MADE if told_by(one)]
    assert 5 < len(needing) < len(MADE) - 5
    assert all("R8" in one.needs for one in MADE)


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


def test_random_scenarios_share_two_deployments() -> None:
    assert len({scenario.site for scenario in MADE}) == 2
