"""Playing a scenario: its steps, what it brings back in order, and the slice of the history that it leaves."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from lab_cluster import fast, pod

from launchguard.errors import LaunchguardError
from launchguard.lab import campaign, player
from launchguard.lab.campaign import Stage, play_all
from launchguard.lab.checker import Verdict, judge
from launchguard.lab.faults import Match, Rule
from launchguard.lab.history import History
from launchguard.lab.kube.resources import PODS
from launchguard.lab.outcome import Outcome, Side
from launchguard.lab.player import Player
from launchguard.lab.scenario import Scenario
from launchguard.lab.standin import running
from launchguard.lab.steps import Act, Arm, AwaitFault, AwaitState, Clear, ClearUntilMoved, Mark, Sleep, Step, Trigger

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


@dataclass
class FakeRows:
    """The rows of one run: every request of a user moves them on at once."""

    queued_by: list[str] = field(default_factory=list)
    state: str = "success"
    trouble: str = ""

    def begin(self) -> None: ...

    def copy(self, run_id: str, history: History) -> None:
        if self.trouble:
            raise LaunchguardError(self.trouble)
        history.record("ti.rows-end", count=0, run_id=run_id)

    def count(self, _run_id: str, _task: str, state: str) -> int:
        return len(self.queued_by) if state == "queued" else 0

    def last_queued_by(self, _run_id: str, _task: str) -> str:
        return self.queued_by[-1]

    def queued(self, _run_id: str, _task: str) -> list[int]:
        return [-1]

    def states(self, _run_id: str) -> list[str]:
        return [self.state]


@dataclass
class FakeRest:
    rows: FakeRows
    owners: Iterator[str] = field(default_factory=lambda: iter(["scheduler-a", "scheduler-a", "scheduler-b"]))
    asked: list[Any] = field(default_factory=list)

    def trigger(self, dag: str, run_id: str) -> None:
        self.asked.append(("trigger", dag, run_id))
        self.rows.queued_by.append(next(self.owners))

    def post(self, path: str, body: dict[str, Any]) -> None:
        self.asked.append((path, body["task_ids"]))
        self.rows.queued_by.append(next(self.owners))

    def patch(self, path: str, body: dict[str, Any]) -> None:
        self.asked.append((path, body))


@dataclass
class FakeComponent:
    name: str
    running: bool = True
    done: list[str] = field(default_factory=list)

    def kill(self) -> None:
        self.running = False
        self.done.append("kill")

    def start(self) -> None:
        self.running = True
        self.done.append("start")

    def pause(self) -> None:
        self.done.append("pause")

    def resume(self) -> None:
        self.done.append("resume")

    def check(self) -> None:
        if not self.running:
            raise LaunchguardError(f"{self.name} has ended")


@dataclass
class Stand:
    """A fake deployment on a real stand-in."""

    deployment: Any
    rows: FakeRows
    rest: FakeRest
    components: dict[str, FakeComponent]

    def play(self, *steps: Step, **more: Any) -> tuple[Player, list[dict[str, Any]]]:
        scenario = Scenario(name="story", title="a story", dag="solo", steps=steps, **{"settle": 1.0, **more})
        made = Player(self.deployment, scenario)
        return made, made.play()


@pytest.fixture
def stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stand]:
    monkeypatch.setattr(player, "_AFTERMATH", 0)
    rows = FakeRows()
    rest = FakeRest(rows)
    components = {name: FakeComponent(name) for name in ("scheduler-a", "scheduler-b")}
    site = SimpleNamespace(history=tmp_path / "history.jsonl")
    with running(tmp_path, fast()) as cluster, History(site.history, "lab") as history:
        deployment = SimpleNamespace(
            site=site, cluster=cluster, history=history, rest=rest, components=components, rows=rows, check=lambda: None
        )
        yield Stand(deployment, rows, rest, components)


def trouble(records: list[dict[str, Any]]) -> str:
    return str(next(one["trouble"] for one in records if one["kind"] == "scenario.end"))


def deeds(records: list[dict[str, Any]]) -> list[tuple[str, str]]:
    return [(one["what"], one["target"]) for one in records if one["kind"] == "lab.deed"]


def test_a_scenario_is_played_and_its_slice_is_given(stand: Stand) -> None:
    stand.play(Trigger())
    _, records = stand.play(Clear(task="work"), Mark(task="work", state="success"))
    assert trouble(records) == ""
    assert [one["kind"] for one in records].count("scenario.begin") == 1
    assert deeds(records) == [("clear", "work"), ("mark", "work")]
    assert stand.rest.asked == [
        ("trigger", "solo", "story"),
        ("/dags/solo/clearTaskInstances", ["work"]),
        ("/dags/solo/dagRuns/story/taskInstances/work", {"new_state": "success"}),
    ]


def test_what_was_broken_is_brought_back_in_order(stand: Stand) -> None:
    rule = Rule(id="quota", action="quota", match=Match(user="owner-of:work"))  # type: ignore[arg-type]
    made, records = stand.play(Trigger(), Arm(fault=rule), Act(act="kill", component="owner-of:work"))
    assert stand.components["scheduler-a"].done == ["kill", "start"]
    assert deeds(records) == [("kill", "scheduler-a"), ("start", "scheduler-a")]
    assert made.at_rest
    faults = stand.deployment.cluster.standin.faults
    assert stand.deployment.cluster.call(faults.tallies) == []
    armed = next(one["rule"] for one in records if one["kind"] == "fault.armed")
    assert armed["match"]["user"] == "scheduler-a"


def test_a_paused_component_is_resumed_by_its_last_name(stand: Stand) -> None:
    stand.play(
        Trigger(), Act(act="pause", component="owner-of:work"), Sleep(seconds=0), Act(act="resume", component="last")
    )
    assert stand.components["scheduler-a"].done == ["pause", "resume"]


def test_clearing_until_the_other_scheduler_has_it(stand: Stand) -> None:
    _, records = stand.play(Trigger(), ClearUntilMoved(task="work"))
    assert trouble(records) == ""
    assert deeds(records) == [("clear", "work")] * 2


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        ((AwaitState(task="work", state="running", within=0.1),), "work running took more than 0.1 s"),
        ((AwaitFault(fault="quota", within=0.1),), "fault quota took more than 0.1 s"),
        ((Act(act="kill", component="nosuch"),), "no component 'nosuch'"),
        ((Trigger(), ClearUntilMoved(task="work", at_most=1)), "scheduler-a queued work every time"),
    ],
)
def test_a_step_that_fails_leaves_no_verdict(stand: Stand, steps: tuple[Step, ...], told: str) -> None:
    _, records = stand.play(*steps)
    assert told in trouble(records)
    assert judge(records).verdict is Verdict.CANNOT_TELL


def test_a_component_that_dies_by_itself_leaves_no_verdict(stand: Stand) -> None:
    stand.components["scheduler-b"].running = False
    made, records = stand.play(AwaitState(task="work", state="running"))
    assert trouble(records) == "scheduler-b has ended"
    assert not made.at_rest


def test_a_component_that_dies_by_itself_is_started_again_where_the_scenario_says_so(stand: Stand) -> None:
    stand.components["scheduler-b"].running = False
    stand.components["scheduler-a"].running = False
    made, records = stand.play(
        Trigger(),
        Act(act="kill", component="scheduler-a"),
        AwaitState(task="work", state="queued"),
        restarts=True,
    )
    assert trouble(records) == ""
    # The one that the scenario killed itself stays down until it is healed.
    assert deeds(records) == [("kill", "scheduler-a"), ("restart", "scheduler-b"), ("start", "scheduler-a")]
    assert stand.components["scheduler-b"].done == ["start"]
    assert made.at_rest


def test_rows_that_cannot_be_copied_leave_no_verdict(stand: Stand) -> None:
    stand.rows.trouble = "the database's clock moved"
    _, records = stand.play()
    assert trouble(records) == "the database's clock moved"


def test_tasks_that_never_end_are_for_the_checker_to_judge(stand: Stand) -> None:
    stand.rows.state = "queued"
    _, records = stand.play(settle=0.3)
    assert trouble(records) == ""


def test_a_pod_that_does_not_end_leaves_the_deployment_out_of_order(stand: Stand) -> None:
    cluster = stand.deployment.cluster
    cluster.call(lambda: cluster.standin.registry.create(PODS, "default", pod("late", "sleep 60")))
    made, _ = stand.play(settle=0.3)
    assert not made.at_rest


# Several scenarios on one deployment


@pytest.fixture
def played(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Have deployments and players only say that they were there."""
    log: list[str] = []

    @contextlib.contextmanager
    def deploy(_stage: Stage, scenario: Scenario, _name: str) -> Iterator[None]:
        if scenario.airflow.get("x") == "refuse":
            raise LaunchguardError("Airflow did not start")
        log.append("deploy")
        yield

    class Plays:
        def __init__(self, _deployment: None, scenario: Scenario) -> None:
            self.at_rest = not scenario.name.startswith("spoils")
            self._name = scenario.name

        def play(self) -> list[dict[str, Any]]:
            log.append(self._name)
            return []

    monkeypatch.setattr(campaign, "deployment_for", deploy)
    monkeypatch.setattr(campaign, "Player", Plays)
    return log


@pytest.fixture
def scenario() -> Callable[..., Scenario]:
    return lambda name, **more: Scenario(name=name, title="", dag="solo", steps=(), **more)


def test_scenarios_with_the_same_settings_share_a_deployment(
    played: list[str], scenario: Callable[..., Scenario], tmp_path: Path
) -> None:
    stage = Stage(Side.PATCHED, tmp_path, tmp_path, "", "")
    wanted = [
        scenario("one"),
        scenario("other", airflow={"x": "1"}),
        scenario("spoils"),
        scenario("two"),
        scenario("no", airflow={"x": "refuse"}, needs=("R1",)),
    ]
    entries = list(play_all(stage, wanted, frozenset()))
    assert played == ["deploy", "one", "spoils", "deploy", "two", "deploy", "other"]
    assert {entry.scenario for entry in entries} == {"one", "two", "other", "spoils", "no"}
    untold = next(entry for entry in entries if entry.scenario == "no")
    assert (untold.outcome, untold.missing) == (Outcome.OPEN, ("R1",))
    assert untold.judgement.doubts == ("Airflow did not start",)
    assert (tmp_path / "one.jsonl").stat().st_mode & 0o777 == 0o600
