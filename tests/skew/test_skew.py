"""Parts of different releases work together: each is a real process, from an installation of its own."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
import pytest
from skew_evidence import ending_of, pods_of_task, ran_code, states_of
from skew_installs import PATCHED, PROVIDER_ONLY, RELEASED, SDK_1_2
from skew_table import Combination, Ending, read_combinations

from launchguard.lab.checker import judge, read_evidence
from launchguard.lab.player import Player
from launchguard.lab.scenario import load_scenario
from launchguard.track import CORE, PROVIDER, SDK

if TYPE_CHECKING:
    from skew_fleet import Fleet

    from launchguard.lab.evidence import Evidence, Record

SCENARIO = load_scenario(Path(__file__).with_name("superseded.toml"))
UNDISTURBED, CLEARED, MARKED = ("work0", "work3"), "work1", "work2"
STARTED = ("200", "422 then 200")
RUN_WELL = ["scheduled", "queued", "running", "success"]

pytestmark = [pytest.mark.skew, pytest.mark.airflow, pytest.mark.network]


@pytest.mark.parametrize(
    ("name", "patched", "sdk"),
    [
        (RELEASED, set(), "1.3.0"),
        (PATCHED, {CORE, SDK, PROVIDER}, "1.3.0"),
        (PROVIDER_ONLY, {PROVIDER}, "1.3.0"),
        (SDK_1_2, set(), "1.2.*"),
    ],
)
def test_installations_are_what_they_are_called(fleet: Fleet, name: str, patched: set[str], sdk: str) -> None:
    (packages,) = fleet.installs.folder(name).glob("lib/python*/site-packages")
    airflow = packages / "airflow"
    marks = {
        CORE: (airflow / "api_fastapi/execution_api/versions/v2026_07_31.py").exists(),
        SDK: "TaskInstanceSupersededError" in (airflow / "sdk/exceptions.py").read_text(encoding="utf-8"),
        PROVIDER: (airflow / "providers/cncf/kubernetes/executors/kubernetes_executor_launch.py").exists(),
    }
    assert {part for part, found in marks.items() if found} == patched
    assert len(list(packages.glob(f"apache_airflow_task_sdk-{sdk}.dist-info"))) == 1


@pytest.mark.parametrize("combination", read_combinations(), ids=lambda one: one.name)
def test_tasks_run_and_superseded_launches_end_as_the_table_says(fleet: Fleet, combination: Combination) -> None:
    records = play(fleet, combination)
    judgement = judge(records)
    assert not judgement.doubts
    evidence = read_evidence(records)
    assert_tokens(evidence, combination)
    for task in UNDISTURBED:
        assert_undisturbed(evidence, task)
    assert_cleared(evidence, combination.cleared)
    assert_marked(evidence, combination.marked)
    # No retry is burnt, no user code runs twice or in vain; what is left is a failed pod where the worker failed.
    fails = {combination.cleared.exits, combination.marked.exits} != {0}
    assert judgement.broken() == ({"no-superseded-failure"} if fails else set()), judgement.findings


def play(fleet: Fleet, combination: Combination) -> list[Record]:
    player = Player(fleet.roll_out(combination), msgspec.structs.replace(SCENARIO, name=combination.name))
    records = player.play()
    if not player.at_rest:
        fleet.take_down()
    return records


def assert_tokens(evidence: Evidence, combination: Combination) -> None:
    """The provider writes the token on the pod; it is the scheduler's core that hands it to the worker."""
    assert {bool(pod.token) for pod in evidence.pods} == {combination.scheduler != RELEASED}
    first = [evidence.runs_of(pod.name)[0] for pod in evidence.pods]
    assert {bool(answer.token) for answer in first} == {combination.scheduler == combination.worker == PATCHED}


def assert_undisturbed(evidence: Evidence, task: str) -> None:
    (pod,) = pods_of_task(evidence, task)
    ending = ending_of(evidence, pod)
    assert ending.told in STARTED
    assert ending.exits == 0
    assert ran_code(evidence, pod)
    assert states_of(evidence, task) == RUN_WELL


def assert_cleared(evidence: Evidence, wanted: Ending) -> None:
    superseded, current = pods_of_task(evidence, CLEARED)
    assert ending_of(evidence, superseded) == wanted
    assert not ran_code(evidence, superseded)
    ending = ending_of(evidence, current)
    assert ending.told in STARTED
    assert ending.exits == 0
    assert ran_code(evidence, current)
    assert states_of(evidence, CLEARED) == ["scheduled", "queued", "", *RUN_WELL]


def assert_marked(evidence: Evidence, wanted: Ending) -> None:
    (superseded,) = pods_of_task(evidence, MARKED)
    assert ending_of(evidence, superseded) == wanted
    assert not ran_code(evidence, superseded)
    assert states_of(evidence, MARKED) == ["scheduled", "queued", "success"]
