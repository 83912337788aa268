"""What `just bench` computes and shows; nothing here depends on how fast the machine is."""

from __future__ import annotations

import json
import os
import sys
import time

import bench.bench
import bench.child
import bench.tool
import psutil
import pytest
import requests
from bench.bench import duration, main, statements
from bench.child import child
from bench.comparison import Comparison, Sample, Side, Timing, compare, in_order, spread, stopwatch, take_turns
from bench.million import QUEUED, Million
from bench.sync_pods import Address
from click.testing import CliRunner

from launchguard.errors import LaunchguardError


def turn(*seconds, sent=None):
    return [Sample(one, sent) for one in seconds]


def test_the_ratio_is_that_of_the_medians_over_all_turns():
    turns = {"new": [turn(2.0, 2.0), turn(2.0, 90.0)], "old": [turn(1.0), turn(4.0)]}
    row = compare("thing", turns, "new", "old", goal=1.5)
    assert row.first == Timing("new", 2.0, 2.0, 90.0, 4, None)
    assert row.second == Timing("old", 2.5, 1.0, 4.0, 2, None)
    assert row.ratio == 2.0 / 2.5
    assert row.goal == 1.5


def test_statements_are_told_as_fewest_and_most():
    turns = {"new": [turn(1.0, 1.0, sent=1)], "old": [turn(1.0, sent=16) + turn(1.0, sent=15)]}
    row = compare("thing", turns, "new", "old")
    assert row.first.statements == (1, 1)
    assert row.second.statements == (15, 16)


def test_the_spread_is_none_where_every_round_says_the_same():
    assert spread([turn(3.0)] * 9, [turn(2.0)] * 9) == (1.5, 1.5)


def test_the_spread_is_wide_where_the_rounds_disagree():
    lowest, highest = spread([turn(1.0), turn(5.0), turn(1.0), turn(5.0)], [turn(2.0)] * 4)
    assert (lowest, highest) == (0.5, 2.5)


def test_the_spread_draws_whole_rounds_so_that_noise_that_hits_both_sides_cancels():
    noise = [1.0, 7.0, 2.0, 9.0, 3.0]
    lowest, highest = spread([turn(1.1 * one) for one in noise], [turn(one) for one in noise])
    assert lowest == pytest.approx(1.1)
    assert highest == pytest.approx(1.1)


def test_everyone_is_first_equally_often_and_follows_each_other():
    sides = [Side(name, list) for name in "abc"]
    orders = ["".join(side.name for side in in_order(sides, number)) for number in range(6)]
    assert sorted(orders) == ["abc", "acb", "bac", "bca", "cab", "cba"]


def test_sides_take_turns_round_by_round():
    seen = []
    sides = [Side(name, lambda name=name: seen.append(name) or turn(1.0)) for name in "ab"]
    turns = take_turns("thing", sides, 3)
    assert [len(own) for own in turns.values()] == [3, 3]
    assert ["".join(sorted(seen[at : at + 2])) for at in (0, 2, 4)] == ["ab", "ab", "ab"]


def test_what_prepares_a_turn_is_not_timed(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(time, "perf_counter", lambda: now[0])

    def let_pass(seconds):
        return lambda: now.__setitem__(0, now[0] + seconds)

    assert stopwatch(let_pass(2.0), prepare=let_pass(30.0))() == [Sample(2.0)]


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0123456, "12.3 ms"), (0.9994, "999 ms"), (1.0, "1 s"), (62.04, "62 s")]
)
def test_durations_have_three_digits(seconds, text):
    assert duration(seconds) == text


def test_statement_counts_in_words():
    assert [statements(None), statements((0, 0)), statements((1, 16))] == ["", "0", "1 to 16"]


ROW = Comparison("thing", Timing("new", 1.0, 0.5, 2.0, 7, (1, 1)), Timing("old", 2.0, 1.0, 3.0, 7, None), 0.5, 0.4, 0.6)


@pytest.fixture
def measured(monkeypatch):
    """Comparisons that measure nothing: what was asked for, in order."""
    asked = []

    def named(name):
        def own(*given):
            asked.append((name, *given))
            return [ROW]

        return own

    class Standing:
        def __enter__(self):
            asked.append(("ground",))
            return "ground"

        def __exit__(self, *_error):
            asked.append(("ground is gone",))

    monkeypatch.setattr(bench.bench, "_TOOL", {"trees": named("trees"), "venvs": named("venvs")})
    monkeypatch.setattr(bench.bench, "_AIRFLOW", {"run": named("run"), "sync": named("sync")})
    monkeypatch.setattr(bench.bench, "ground", lambda rows: asked.append(("rows", rows)) or Standing())
    return asked


def test_by_default_everything_is_compared_on_one_database(measured):
    ended = CliRunner().invoke(main, [], catch_exceptions=False)
    assert ended.exit_code == 0
    assert measured == [
        ("trees", None),
        ("venvs", None),
        ("rows", 1_000_000),
        ("ground",),
        ("run", "ground", None),
        ("sync", "ground", None),
        ("ground is gone",),
    ]


def test_only_leaves_the_others_out_and_makes_no_database_for_the_tool(measured):
    ended = CliRunner().invoke(main, ["--only", "venvs", "--rounds", "3"], catch_exceptions=False)
    assert ended.exit_code == 0
    assert measured == [("venvs", 3)]


def test_rows_are_rounded_to_whole_runs(measured):
    CliRunner().invoke(main, ["--only", "run", "--rows", "29999"], catch_exceptions=False)
    assert ("rows", 20_000) in measured


def test_an_unknown_name_is_told(measured):
    ended = CliRunner().invoke(main, ["--only", "speed"])
    assert ended.exit_code == 2
    assert measured == []


def test_json_has_the_ratio_with_its_spread(measured, capfdbinary):
    CliRunner().invoke(main, ["--only", "trees", "--json"], catch_exceptions=False)
    bench.bench.show([ROW], as_json=True)
    (row,) = json.loads(capfdbinary.readouterr().out)
    assert (row["ratio"], row["lowest"], row["highest"]) == (0.5, 0.4, 0.6)
    assert row["first"]["statements"] == [1, 1]


def test_the_table_has_both_sides(measured, capsys):
    bench.bench.show([ROW], as_json=False)
    out = capsys.readouterr().out
    assert "0.500 (0.400 to 0.600)" in out
    assert [line.split()[0:2] for line in out.splitlines()[1:]] == [["thing", "new"], ["old", "2"]]


def test_a_scratch_build_is_left_behind(project, monkeypatch):
    monkeypatch.setenv("LAUNCHGUARD_ROOT", str(project.root))
    monkeypatch.setattr(bench.tool, "_apply", lambda: None)
    with bench.tool._scratch_build() as build:
        assert os.environ["LAUNCHGUARD_BUILD"] == str(build)
        assert (build / "cache" / "sdists").is_dir()
    assert "LAUNCHGUARD_BUILD" not in os.environ
    assert not build.exists()


def test_a_build_folder_that_was_set_is_set_again(project, monkeypatch):
    monkeypatch.setenv("LAUNCHGUARD_ROOT", str(project.root))
    monkeypatch.setenv("LAUNCHGUARD_BUILD", "elsewhere")
    monkeypatch.setattr(bench.tool, "_apply", lambda: None)
    with bench.tool._scratch_build():
        pass
    assert os.environ["LAUNCHGUARD_BUILD"] == "elsewhere"


def test_more_waiting_task_instances_than_there_are_cannot_be_had():
    with pytest.raises(LaunchguardError, match="fewer rounds"):
        Million("postgresql://nowhere/", 20_000).queued(QUEUED - 1, 2)


ECHO = "import sys, json\nfor line in sys.stdin: print(json.dumps({'url': json.loads(line)['say']}), flush=True)"


def test_a_child_is_asked_and_answers(tmp_path):
    with child(sys.executable, "-c", ECHO, log=tmp_path / "log", cwd=tmp_path) as running:
        assert running.ask(Address, say="one") == Address("one")
        assert running.ask(Address, say="two") == Address("two")


def test_a_child_that_dies_is_told_with_the_end_of_its_log(tmp_path):
    program = "import sys; sys.exit('no such table')"
    with (
        child(sys.executable, "-c", program, log=tmp_path / "log", cwd=tmp_path) as running,
        pytest.raises(LaunchguardError, match=r"ended early(?s:.*)no such table"),
    ):
        running.ask(Address, say="one")


def test_a_childs_own_children_end_with_it(tmp_path):
    program = (
        "import os, subprocess, sys, json\n"
        "one = subprocess.Popen(['sleep', '600'], stdout=subprocess.DEVNULL)\n"
        "print(json.dumps({'url': str(one.pid)}), flush=True)\nsys.stdin.read()"
    )
    with child(sys.executable, "-c", program, log=tmp_path / "log", cwd=tmp_path) as running:
        grandchild = psutil.Process(int(running.hear(Address).url))
        assert grandchild.is_running()
    _gone, alive = psutil.wait_procs([grandchild], timeout=10)
    # Where nobody reaps orphans, as in a container, it stays as a zombie.
    assert [one for one in alive if one.status() != psutil.STATUS_ZOMBIE] == []


def test_a_child_is_not_waited_for_when_the_user_interrupts(tmp_path):
    started = time.monotonic()
    with (
        pytest.raises(KeyboardInterrupt),
        child(sys.executable, "-c", "import time; time.sleep(600)", log=tmp_path / "log", cwd=tmp_path),
    ):
        raise KeyboardInterrupt
    assert time.monotonic() - started < bench.child._PATIENCE


@pytest.fixture
def pod_api(tmp_path):
    with bench.sync_pods._pod_api(tmp_path) as url:
        yield url


def test_the_pod_api_creates_after_the_time_that_is_set(pod_api):
    pods = f"{pod_api}/as/lab/api/v1/namespaces/default/pods"
    requests.put(f"{pod_api}/latency/0.2", timeout=10).raise_for_status()
    started = time.monotonic()
    answer = requests.post(pods, json={"metadata": {"name": "one", "annotations": {"a": "b"}}}, timeout=10)
    assert time.monotonic() - started >= 0.2
    assert answer.status_code == 201
    metadata = answer.json()["metadata"]
    assert (metadata["name"], metadata["annotations"]) == ("one", {"a": "b"})
    assert metadata["uid"]
    assert metadata["resourceVersion"]


def test_the_pod_apis_watch_stays_open_and_says_nothing(pod_api):
    pods = f"{pod_api}/as/lab/api/v1/namespaces/default/pods"
    assert requests.get(pods, timeout=10).json()["items"] == []
    with (
        requests.get(pods, params={"watch": "true"}, stream=True, timeout=(10, 0.3)) as watch,
        pytest.raises(requests.ConnectionError, match="Read timed out"),
    ):
        next(watch.iter_lines())
