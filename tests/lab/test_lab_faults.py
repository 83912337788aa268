"""The rule engine alone: matching, life, counts, draws that replay."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from launchguard.errors import LaunchguardError
from launchguard.lab.actions import ACTIONS, Action, Point
from launchguard.lab.faults import FaultEngine, Match, Rule, Subject
from launchguard.lab.history import History, read_history

if TYPE_CHECKING:
    from pathlib import Path

CREATE = Subject(verb="create", resource="pods", namespace="airflow", name="task-1", labels={"dag_id": "d"}, user="a")


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def history(tmp_path: Path) -> History:
    return History(tmp_path / "history.jsonl", "test")


@pytest.fixture
def engine(history: History, clock: Clock) -> FaultEngine:
    return FaultEngine(7, history, clock)


def strikes(engine: FaultEngine, subject: Subject = CREATE, times: int = 1) -> list[bool]:
    return [bool(engine.draw(Point.REQUEST, subject)) for _ in range(times)]


@pytest.mark.parametrize(
    ("match", "hit"),
    [
        ({}, True),
        ({"verbs": ("create", "get")}, True),
        ({"verbs": ("get",)}, False),
        ({"resource": "configmaps"}, False),
        ({"name": "task-*"}, True),
        ({"name": "other-*"}, False),
        ({"labels": "dag_id=d,!x"}, True),
        ({"labels": "dag_id!=d"}, False),
        ({"namespace": "default"}, False),
        ({"user": "b"}, False),
        ({"subresource": "status"}, False),
        ({"subresource": "*"}, True),
        ({"events": ("ADDED",)}, False),
    ],
)
def test_what_a_rule_is_about(engine: FaultEngine, match: dict[str, Any], hit: bool) -> None:
    engine.arm(Rule(id="r", action=Action.QUOTA, match=Match(**match)))
    assert strikes(engine) == [hit]


def test_a_rule_strikes_at_its_own_point_only(engine: FaultEngine) -> None:
    engine.arm(Rule(id="r", action=Action.LOST_RESPONSE))
    assert strikes(engine) == [False]
    (firing,) = engine.draw(Point.ANSWER, CREATE)
    assert (firing.rule, firing.action) == ("r", Action.LOST_RESPONSE)


def test_skip_and_count(engine: FaultEngine) -> None:
    engine.arm(Rule(id="r", action=Action.QUOTA, skip=1, count=2))
    assert strikes(engine, times=5) == [False, True, True, False, False]
    (tally,) = engine.tallies()
    assert (tally.matched, tally.fired, tally.state) == (3, 2, "exhausted")


def test_the_life_of_a_rule(engine: FaultEngine, clock: Clock) -> None:
    engine.arm(Rule(id="r", action=Action.QUOTA, start_after=5, end_after=10))
    states = []
    for now in (0, 5, 9.9, 10):
        clock.now = now
        states.append((engine.tallies()[0].state, *strikes(engine)))
    assert states == [("armed", False), ("active", True), ("active", True), ("expired", False)]


def test_draws_replay_and_do_not_depend_on_other_rules(history: History) -> None:
    def drawn(seed: int, *, noise: bool) -> list[bool]:
        engine = FaultEngine(seed, history)
        engine.arm(Rule(id="r", action=Action.QUOTA, match=Match(verbs=("create",)), probability=0.5))
        if noise:
            engine.arm(Rule(id="noise", action=Action.SLOW, match=Match(verbs=("get",)), probability=0.5))
            strikes(engine, Subject(verb="get"), 10)
        return strikes(engine, times=40)

    assert drawn(1, noise=False) == drawn(1, noise=True)
    assert drawn(1, noise=False) != drawn(2, noise=False)
    assert 5 < sum(drawn(1, noise=False)) < 35


def test_parameters_have_defaults(engine: FaultEngine) -> None:
    engine.arm(Rule(id="r", action=Action.RATE_LIMIT))
    engine.arm(Rule(id="s", action=Action.RATE_LIMIT, params={"retry_after": 9}))
    assert [firing.params for firing in engine.draw(Point.REQUEST, CREATE)] == [{"retry_after": 1}, {"retry_after": 9}]


def test_a_removed_rule_strikes_no_more_but_is_counted(engine: FaultEngine) -> None:
    engine.arm(Rule(id="r", action=Action.QUOTA))
    strikes(engine, times=3)
    assert engine.disarm("r").fired == 3
    assert strikes(engine) == [False]
    assert engine.fired[Action.QUOTA] == 3


def test_all_of_it_is_recorded(engine: FaultEngine, history: History) -> None:
    engine.arm(Rule(id="r", action=Action.QUOTA))
    strikes(engine)
    engine.disarm("r")
    kinds = [(entry["kind"], entry.get("rule")) for entry in read_history(history.path)][1:]
    assert [kind for kind, _ in kinds] == ["fault.armed", "fault.fired", "fault.removed"]
    assert list(read_history(history.path))[2]["subject"]["name"] == "task-1"


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        ({"id": "r", "action": "quota", "params": {"speed": 1}}, "quota has no parameter 'speed'"),
        ({"id": "r", "action": "quota", "probability": 2}, "between 0 and 1"),
        ({"id": "r", "action": "quota", "match": {"labels": "a=b=c"}}, "unable to parse requirement"),
    ],
)
def test_rules_that_make_no_sense(engine: FaultEngine, rule: dict[str, Any], message: str) -> None:
    read = msgspec.convert(rule, Rule)
    with pytest.raises(LaunchguardError, match=message):
        engine.arm(read)


def test_one_id_one_rule(engine: FaultEngine) -> None:
    engine.arm(Rule(id="r", action=Action.QUOTA))
    with pytest.raises(LaunchguardError, match="armed already"):
        engine.arm(Rule(id="r", action=Action.SLOW))
    with pytest.raises(LaunchguardError, match="no fault 's' is armed"):
        engine.disarm("s")


def test_every_action_has_its_place() -> None:
    assert set(ACTIONS) == set(Action)
