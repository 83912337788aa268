"""Workers in a real cluster: what they are given, how user code's lines come back, and what cannot be played."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

import pytest
import requests
from click.testing import CliRunner

from launchguard.cli_lab import lab
from launchguard.cli_options import Context
from launchguard.errors import LaunchguardError
from launchguard.lab import campaign, installs, runner
from launchguard.lab.actions import Action
from launchguard.lab.airflow.environment import SITE, Site
from launchguard.lab.airflow.gateway import Gateway
from launchguard.lab.campaign import Stage, play_all
from launchguard.lab.checker import Verdict, judge
from launchguard.lab.cluster.choice import ClusterChoice, Place
from launchguard.lab.cluster.diary import PATH, Diary
from launchguard.lab.cluster.home import Home
from launchguard.lab.cluster.limits import why_not
from launchguard.lab.cluster.workers import config_maps, worker_template
from launchguard.lab.evidence import code_of
from launchguard.lab.faults import Rule
from launchguard.lab.history import History, read_history
from launchguard.lab.inloop import loop_thread
from launchguard.lab.installs import Ground
from launchguard.lab.outcome import Outcome, Side
from launchguard.lab.plan import Command, Drain, KillForMemory, NodePressure, StepClock
from launchguard.lab.scenario import Scenario, load_scenarios
from launchguard.lab.steps import Arm, Do, Step
from launchguard.track import load_track

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from launchguard.fetch import Tree
    from launchguard.lab.airflow.deployment import Blueprint, Deployment

ROOT = Path(__file__).resolve().parents[2]
HOME = Home("ns", "0a1b")


@pytest.fixture
def site(tmp_path: Path) -> Site:
    settings = {"AIRFLOW__SCHEDULER__TASK_QUEUED_TIMEOUT": "20", "AIRFLOW__DATABASE__SQL_ALCHEMY_POOL_SIZE": "3"}
    host = {"worker_host": "172.18.0.1", "namespace": "ns", "image": "lab/released:1"}
    return Site(tmp_path, tmp_path, "postgresql+psycopg2://me@/db", 8080, 8081, settings=settings, **host)


# What workers are given


def test_the_template_brings_all_that_a_worker_needs_and_no_secret_of_the_servers(site: Site) -> None:
    template = worker_template(site, HOME)
    (container,) = template["spec"]["containers"]
    env = {one["name"]: one.get("value") for one in container["env"]}
    assert (container["image"], template["metadata"]["labels"]) == ("lab/released:1", {"launchguard-lab": "0a1b"})
    assert env["AIRFLOW__CORE__EXECUTION_API_SERVER_URL"] == "http://172.18.0.1:8081/execution/"
    assert env["AIRFLOW__SCHEDULER__TASK_QUEUED_TIMEOUT"] == "20"
    assert env["LAUNCHGUARD_LAB_HISTORY_URL"].endswith(site.diary_key)
    assert not [name for name in env if "DATABASE" in name or "SECRET" in name]
    text = json.dumps(template)
    assert site.jwt_secret not in text
    assert str(site.folder) not in text


def test_every_mount_of_the_template_has_its_config_map(site: Site) -> None:
    template, maps = worker_template(site, HOME), config_maps(HOME)
    volumes = {one["name"]: one["configMap"]["name"] for one in template["spec"]["volumes"]}
    mounts = {one["mountPath"]: volumes[one["name"]] for one in template["spec"]["containers"][0]["volumeMounts"]}
    assert set(mounts.values()) == set(maps)
    assert "launchguard_lab_dags.py" in maps[mounts["/opt/launchguard-lab/dags"]]
    assert "def user_code" in maps[mounts["/opt/launchguard-lab/site"]]["launchguard_lab_site.py"]


def test_an_address_of_version_6_stands_in_brackets(site: Site) -> None:
    assert Site(site.folder, site.dags, "", 1, 2, worker_host="fd00::1").worker_url == "http://[fd00::1]:2"


# User code's lines


@pytest.fixture
def gateway(tmp_path: Path) -> Iterator[str]:
    """Give the URL of a gateway with a diary, before no server."""
    path = tmp_path / "history.jsonl"
    with History(path, "lab") as history, loop_thread("gateway") as inside:
        made: list[Gateway] = []

        async def serve() -> None:
            made.append(Gateway("http://127.0.0.1:9", history, Diary(path, "the-key")))
            await made[0].listen(0)

        inside.wait(serve())
        yield made[0].url
        inside.wait(made[0].close())


def run_user_code(url: str, program: str = "print('ran')") -> subprocess.CompletedProcess[str]:
    whole = (
        "import types, launchguard_lab_site as site\n"
        "ti = types.SimpleNamespace(id='ti-1', task_id='work', run_id='r', map_index=None, try_number=2)\n"
        f"with site.user_code('execute', ti): {program}\n"
    )
    env = {**os.environ, "PYTHONPATH": str(SITE), "HOSTNAME": "pod-a", "LAUNCHGUARD_LAB_HISTORY_URL": url}
    # A proxy of the image's must not be asked.
    env["http_proxy"] = "http://127.0.0.1:9"
    return subprocess.run([sys.executable, "-c", whole], env=env, check=False, capture_output=True, text=True)


def test_user_code_in_a_pod_tells_its_lines_by_http(gateway: str, tmp_path: Path) -> None:
    assert run_user_code(f"{gateway}{PATH}the-key").returncode == 0
    records = list(read_history(tmp_path / "history.jsonl"))
    (code,) = code_of(records)
    assert (code.task, code.ti, code.try_number, code.part, code.pod) == ("work", "ti-1", 2, "execute", "pod-a")
    assert code.ended is not None
    assert code.begun < code.ended
    mine = [one for one in records if one["src"] == "user-pod-a-execute-" + one["src"].rpartition("-")[2]]
    # Whole for the checker, which looks for gaps.
    assert [one["seq"] for one in mine] == [1, 2, 3]
    assert not [one for one in judge(records).doubts if "missing" in one]


def test_user_code_that_cannot_tell_does_not_run(gateway: str, tmp_path: Path) -> None:
    done = run_user_code(f"{gateway}{PATH}another-key")
    assert (done.returncode, done.stdout) == (1, "")
    assert not code_of(list(read_history(tmp_path / "history.jsonl")))


def line(number: int = 1, **changes: Any) -> dict[str, Any]:
    about = {"part": "execute", "ti": "t", "task_id": "work", "run_id": "r", "map_index": -1, "try": 1, "pod": "a"}
    return {"src": "user-a", "seq": number, "kind": "user.begin", "about": about, **changes}


def test_a_line_that_comes_again_is_the_same_line(gateway: str, tmp_path: Path) -> None:
    for body in (line(), line(), line(2, kind="user.end"), line(2, kind="user.end")):
        assert requests.post(f"{gateway}{PATH}the-key", json=body, timeout=9).status_code == 204
    kinds = [one["kind"] for one in read_history(tmp_path / "history.jsonl") if one["src"] == "user-a"]
    assert kinds == ["start", "user.begin", "user.end"]


@pytest.mark.parametrize("body", [line(kind="api.request"), {"src": "user-a"}, ["no line"]])
def test_what_is_no_line_is_refused(gateway: str, tmp_path: Path, body: Any) -> None:
    assert requests.post(f"{gateway}{PATH}the-key", json=body, timeout=9).status_code == 400
    assert [one["src"] for one in read_history(tmp_path / "history.jsonl")] == ["lab"]


def test_others_get_nothing_but_the_execution_api(gateway: str) -> None:
    for path in ("/auth/token", "/api/v2/dags", "/lab/history/", "/lab/history/wrong", "/executions"):
        assert requests.get(f"{gateway}{path}", timeout=9).status_code == 404, path


# What cannot be played


def scenario(name: str = "story", *steps: Step) -> Scenario:
    return Scenario(name=name, title="a story", dag="solo", steps=steps)


@pytest.mark.parametrize("action", list(Action))
def test_what_a_kubelet_does_by_itself_cannot_be_had(action: Action) -> None:
    told = why_not(scenario("story", Arm(fault=Rule(id="f", action=action))))
    assert bool(told) == (action in {Action.OOM_BEFORE_START, Action.REJECTED})


@pytest.mark.parametrize("command", [NodePressure(pod="a"), KillForMemory(pod="a"), StepClock(seconds=1)])
def test_commands_that_cannot_be_had(command: Command) -> None:
    assert "on a real cluster" in why_not(scenario("story", Do(command=command)))


def test_a_drain_can_be_had() -> None:
    assert why_not(scenario("story", Do(command=Drain(node="lab-node-1")))) == ""


def test_most_scenarios_can_be_played() -> None:
    assert [one.name for one in load_scenarios() if why_not(one)] == ["deferral-resume"]


def place(folder: Path) -> Place:
    return Place(folder / "api", "http://127.0.0.1:9", "lab/released:1")


def test_what_cannot_be_played_is_told_and_is_no_pass(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    @contextlib.contextmanager
    def deploy(_stage: Stage, _scenario: Scenario, _name: str) -> Iterator[None]:
        raise LaunchguardError("deployed")
        yield

    monkeypatch.setattr(campaign, "deployment_for", deploy)
    cannot = scenario("cannot", Arm(fault=Rule(id="full", action=Action.REJECTED)))
    stage = Stage(Side.RELEASED, tmp_path, tmp_path, "", "", place(tmp_path))
    first, second = play_all(stage, [cannot, scenario("can")], frozenset())
    assert (first.scenario, first.outcome, first.judgement.verdict) == (
        "cannot",
        Outcome.CANNOT_TELL,
        Verdict.CANNOT_TELL,
    )
    assert "fault 'full' (rejected) cannot be had" in first.judgement.doubts[0]
    assert second.judgement.doubts == ("deployed",)
    # The stand-in can do it.
    (third,) = play_all(Stage(Side.RELEASED, tmp_path, tmp_path, "", ""), [cannot], frozenset())
    assert third.judgement.doubts == ("deployed",)


def test_a_scenario_is_deployed_where_its_stage_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    wanted: list[Blueprint] = []

    @contextlib.contextmanager
    def deploy(_folder: Path, blueprint: Blueprint, **_more: str) -> Iterator[Deployment | None]:
        wanted.append(blueprint)
        yield None

    monkeypatch.setattr(campaign, "deployed", deploy)
    stage = Stage(Side.RELEASED, tmp_path, tmp_path, "", "", place(tmp_path))
    with campaign.deployment_for(stage, scenario(), "0"):
        pass
    assert [one.place for one in wanted] == [place(tmp_path)]


# The command line


class PlayedError(Exception):
    """Here a campaign would begin."""


@pytest.fixture
def chosen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Callable[..., tuple[ClusterChoice | None, tuple[Side, ...]]]:
    """Call a command of the lab, and give the cluster and the sides that would have been played."""
    monkeypatch.setenv("LAUNCHGUARD_ROOT", str(ROOT))
    monkeypatch.setenv("LAUNCHGUARD_BUILD", str(tmp_path))

    class Bare(Context):
        def fetch(self, source: str, url: str | None) -> Tree:
            return None  # type: ignore[return-value]

    def prepare(project: Any, _tree: Tree) -> Ground:
        tree: Any = type("", (), {"track": load_track(project, "3.3.0")})
        return Ground(project, tree, "0" * 40, (), frozenset(), tmp_path / "lab")

    def play(ground: Ground, sides: tuple[Side, ...], *_rest: object, **_named: object) -> NoReturn:
        raise PlayedError(ground.cluster, sides)

    monkeypatch.setattr(installs, "prepare", prepare)
    for name in ("play_scenarios", "play_random", "measure"):
        monkeypatch.setattr(runner, name, play)

    def calls(*words: str) -> tuple[ClusterChoice | None, tuple[Side, ...]]:
        done = CliRunner().invoke(lab, words, obj=Bare("3.3.0"), standalone_mode=False)
        if isinstance(done.exception, PlayedError):
            return done.exception.args
        raise done.exception or AssertionError("nothing was played")

    return calls


IMAGES = ("--image-released", "r:1", "--image-patched", "p:1")


@pytest.mark.parametrize("command", [("run", "happy-path"), ("fuzz", "--minutes", "0"), ("measure", "--tasks", "1")])
def test_all_runs_take_a_kubeconfig(chosen: Callable[..., Any], command: tuple[str, ...]) -> None:
    more = ("--context", "kind", "--namespace", "ns", "--worker-host", "10.0.0.1")
    cluster, sides = chosen(*command, "--kubeconfig", "k", *IMAGES, *more)
    images = {Side.RELEASED: "r:1", Side.PATCHED: "p:1"}
    assert cluster == ClusterChoice(Path("k"), "kind", "ns", "10.0.0.1", images)
    assert set(sides) == set(images)


def test_without_a_kubeconfig_the_stand_in_is_used(chosen: Callable[..., Any]) -> None:
    assert chosen("run", "happy-path")[0] is None


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--kubeconfig", "k"), "--image-released, --image-patched"),
        (("--kubeconfig", "k", "--image-released", "r:1"), "images: name them with --image-patched"),
        (("--kubeconfig", "k", "--side", "patched", "--image-released", "r:1"), "name them with --image-patched"),
        (("--image-patched", "p:1"), "go with --kubeconfig"),
        (("--namespace", "ns"), "go with --kubeconfig"),
    ],
)
def test_what_is_missing_is_told_in_one_line(chosen: Callable[..., Any], words: tuple[str, ...], told: str) -> None:
    with pytest.raises(LaunchguardError, match=told) as error:
        chosen("run", "happy-path", *words)
    assert "\n" not in str(error.value)


def test_the_report_names_the_workers_images(tmp_path: Path) -> None:
    project: Any = type("", (), {})
    tree: Any = type("", (), {"track": load_track(Context(None).project, "3.3.0")})
    choice = ClusterChoice(Path("k"), images={Side.PATCHED: "p:1"})
    ground = Ground(project, tree, "", (), frozenset(), tmp_path, choice)
    told = ground.versions([Side.RELEASED, Side.PATCHED])
    assert told[Side.PATCHED].endswith(", workers in p:1")
    assert "workers in" not in told[Side.RELEASED]
