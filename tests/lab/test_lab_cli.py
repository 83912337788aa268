"""The lab's commands: what they call, and what they end with."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from click.testing import CliRunner

from launchguard.cli_lab import lab
from launchguard.cli_options import Context
from launchguard.errors import Exit
from launchguard.lab import installs, runner
from launchguard.lab.checker import Judgement, Verdict
from launchguard.lab.installs import Ground
from launchguard.lab.labreport import Entry, load
from launchguard.lab.outcome import Outcome, Side
from launchguard.postgres import URL_VARIABLE
from launchguard.track import load_track

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from launchguard.fetch import Tree
    from launchguard.lab.campaign import Stage
    from launchguard.lab.scenario import Scenario
    from launchguard.project import Project

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def call(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., tuple[int, str]]:
    """Call a command of the lab, with everything that takes time left out."""
    monkeypatch.setenv("LAUNCHGUARD_ROOT", str(ROOT))
    monkeypatch.setenv("LAUNCHGUARD_BUILD", str(tmp_path))
    monkeypatch.setenv(URL_VARIABLE, "")

    class Bare(Context):
        def fetch(self, source: str, url: str | None) -> Tree:
            return None  # type: ignore[return-value]

    def prepare(project: Project, _tree: Tree) -> Ground:
        tree: Any = type("", (), {"track": load_track(project, "3.3.0")})
        return Ground(project, tree, "0" * 40, ("one",), frozenset({"R8", "R9"}), project.build / "lab")

    monkeypatch.setattr(installs, "prepare", prepare)

    def calls(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(lab, words, obj=Bare("3.3.0"), standalone_mode=False)
        if done.exception is not None:
            raise done.exception
        return int(done.return_value), done.stdout

    return calls


@pytest.fixture
def play(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Side, Scenario], Outcome]], list[tuple[Side, str]]]:
    """Have each scenario end with the outcome that a function gives; what was played is listed."""
    played: list[tuple[Side, str]] = []

    @contextlib.contextmanager
    def stages(_ground: Ground, sides: Sequence[Side]) -> Iterator[list[Any]]:
        yield [type("", (), {"side": side}) for side in sides]

    def have(outcome: Callable[[Side, Scenario], Outcome]) -> list[tuple[Side, str]]:
        def play_all(stage: Stage, scenarios: Sequence[Scenario], _rules: frozenset[str]) -> Iterator[Entry]:
            for one in reversed(scenarios):
                played.append((stage.side, one.name))
                judged = Judgement(Verdict.HOLDS)
                came = outcome(stage.side, one)
                yield Entry(
                    scenario=one.name, title=one.title, report="", side=stage.side, outcome=came, judgement=judged
                )

        monkeypatch.setattr(runner, "stages", stages)
        monkeypatch.setattr(runner, "play_all", play_all)
        return played

    return have


def good(side: Side, scenario: Scenario) -> Outcome:
    return Outcome.REPRODUCED if side is Side.RELEASED and scenario.released_breaks else Outcome.HOLDS


def test_list_tells_which_rules_have_no_patch(call: Callable[..., tuple[int, str]]) -> None:
    code, shown = call("list")
    assert code == Exit.GOOD
    assert "lost-create-response" in shown
    code, shown = call("list", "--json")
    assert {one["name"] for one in json.loads(shown)} > {"happy-path"}


def test_run_plays_both_sides_and_writes_the_report(
    call: Callable[..., tuple[int, str]], play: Callable[..., list[tuple[Side, str]]], tmp_path: Path
) -> None:
    played = play(good)
    code, shown = call("run", "happy-path", "quota-clear")
    assert code == Exit.GOOD
    assert len(played) == 4
    assert (tmp_path / "lab" / "index.html").is_file()
    # In the order in which they were named, whatever order they were played in.
    assert load(tmp_path / "lab").scenarios() == ["happy-path", "quota-clear"]
    assert "reproduced" in shown
    assert call("report")[0] == Exit.GOOD


@pytest.mark.parametrize(
    ("outcome", "code"),
    [
        (Outcome.NOT_REPRODUCING, Exit.PROBLEMS),
        (Outcome.BROKEN, Exit.PROBLEMS),
        (Outcome.CANNOT_TELL, Exit.CANNOT_TELL),
        (Outcome.OPEN, Exit.GOOD),
    ],
)
def test_run_ends_with_what_it_found(
    call: Callable[..., tuple[int, str]],
    play: Callable[..., list[tuple[Side, str]]],
    outcome: Outcome,
    code: Exit,
) -> None:
    play(lambda _side, _scenario: outcome)
    assert call("run", "--short", "--side", "patched", "--json")[0] == code


def test_an_interrupted_run_keeps_what_there_is(
    call: Callable[..., tuple[int, str]], play: Callable[..., list[tuple[Side, str]]], tmp_path: Path
) -> None:
    def outcome(side: Side, scenario: Scenario) -> Outcome:
        if side is Side.PATCHED:
            raise KeyboardInterrupt
        return good(side, scenario)

    play(outcome)
    assert call("run", "happy-path")[0] == Exit.INTERRUPTED
    assert [entry.side for entry in load(tmp_path / "lab").entries] == [Side.RELEASED]


def test_fuzz_plays_until_the_time_is_up_and_replays_one(
    call: Callable[..., tuple[int, str]], play: Callable[..., list[tuple[Side, str]]], tmp_path: Path
) -> None:
    played = play(good)
    assert call("fuzz", "--seed", "5", "--minutes", "0")[0] == Exit.GOOD
    assert [side for side, _ in played] == [Side.RELEASED, Side.PATCHED]
    assert load(tmp_path / "lab").seed == "5"
    played.clear()
    call("fuzz", "--seed", "5", "--only", "3", "--side", "patched")
    assert played == [(Side.PATCHED, "fuzz-5-3")]


def test_measure_counts_each_side(
    call: Callable[..., tuple[int, str]], play: Callable[..., list[tuple[Side, str]]]
) -> None:
    played = play(good)
    code, shown = call("measure", "--tasks", "40", "--json")
    assert code == Exit.GOOD
    assert played == [(Side.RELEASED, "pressure"), (Side.PATCHED, "pressure")]
    assert json.loads(shown)["counts"] == {}


def test_a_database_of_the_users_own(
    call: Callable[..., tuple[int, str]],
    play: Callable[..., list[tuple[Side, str]]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    play(good)
    monkeypatch.setenv(URL_VARIABLE, "")
    call("run", "happy-path", "--database-url", "postgresql://me@db/postgres")
    assert os.environ[URL_VARIABLE] == "postgresql://me@db/postgres"
