"""The breeze runner, with a `breeze` that records how it was called."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path

import pytest
from factories import TRACK, invoke, make_tree
from series_factories import edit_patch, make_upstream, subjects

import launchguard
from launchguard.breeze import install_overrides, lane_commands, run_breeze
from launchguard.errors import Exit, LaunchguardError
from launchguard.fetch import fetch
from launchguard.project import Project
from launchguard.track import Breeze, Lane, load_track

LANES = """
[[lanes]]
name = "head"
python = "3.10"
airflow = "1.2.0"
patched = ["core", "task-sdk", "provider"]
suites = ["series"]

[[lanes]]
name = "compat-2.11.1"
python = "3.10"
airflow = "2.11.1"
patched = ["provider"]
suites = ["series"]
breeze = { skip_providers = ["common.messaging", "fab", "git"] }

[[lanes]]
name = "compat-3.1.8"
python = "3.10"
airflow = "3.1.8"
patched = ["provider"]
suites = ["series"]
"""
# What upstream's CI runs for a lane of its compatibility matrix, as its workflow writes it.
PREPARE = (
    "breeze release-management prepare-provider-distributions --include-not-ready-providers "
    "--distribution-format wheel --skip-tag-check"
)
TEST_2_11 = (
    "breeze testing providers-tests --run-in-parallel --parallel-test-types 'Providers[cncf.kubernetes]' "
    "--use-distributions-from-dist --distribution-format wheel --use-airflow-version 2.11.1 "
    "--airflow-constraints-reference constraints-2.11.1 --install-airflow-with-constraints "
    "--providers-skip-constraints --skip-providers 'common.messaging fab git' --python 3.10"
)
TEST_3_1 = (
    "breeze testing providers-tests --run-in-parallel --parallel-test-types 'Providers[cncf.kubernetes]' "
    "--use-distributions-from-dist --distribution-format wheel --use-airflow-version 3.1.8 "
    "--airflow-constraints-reference constraints-3.1.8 --install-airflow-with-constraints "
    "--providers-skip-constraints --python 3.10"
)
HEAD = (
    "breeze testing providers-tests --run-in-parallel --parallel-test-types 'Providers[cncf.kubernetes]' --python 3.10",
    "breeze testing task-sdk-tests --python 3.10",
)
RECORDER = """#!{python}
import json, os, sys
with open({log!r}, "a") as log:
    names = ("SKIP_BREEZE_SELF_UPGRADE_CHECK", "ANSWER")
    log.write(json.dumps([sys.argv[1:], os.getcwd(), {{name: os.environ.get(name) for name in names}}]) + "\\n")
print("breeze says hello")
sys.exit({fails!r} in " ".join(sys.argv))
"""


def lane(**fields):
    values = {"name": "lane", "python": "3.10", "airflow": "3.1.8", "patched": ("provider",), "suites": ()}
    return Lane(**(values | fields))


class TestCommands:
    def test_a_lane_with_providers_to_leave_out(self):
        commands = lane_commands(
            lane(airflow="2.11.1", breeze=Breeze(skip_providers=("common.messaging", "fab", "git")))
        )
        assert [shlex.join(command) for command in commands] == [PREPARE, TEST_2_11]

    def test_a_lane_without(self):
        assert [shlex.join(command) for command in lane_commands(lane())] == [PREPARE, TEST_3_1]

    def test_the_checkout_itself(self):
        commands = lane_commands(lane(patched=("core", "task-sdk", "provider")))
        assert [shlex.join(command) for command in commands] == list(HEAD)

    def test_the_real_matrix_is_upstreams(self):
        """The lanes that the real track has, word by word."""
        project = Project(Path(launchguard.__file__).resolve().parents[2])
        lanes = {one.airflow: one for one in load_track(project, "3.3.0").lanes}
        prepare, test = lane_commands(lanes["2.11.1"])
        assert shlex.join(prepare) == PREPARE
        skipped = "common.messaging edge3 fab git keycloak informatica common.ai"
        assert shlex.join(test) == TEST_2_11.replace("common.messaging fab git", skipped)
        for version in ("3.0.6", "3.1.8"):
            commands = [shlex.join(command) for command in lane_commands(lanes[version])]
            assert commands == [PREPARE, TEST_3_1.replace("3.1.8", version)]
        assert {one.python for one in lanes.values()} == {"3.10"}


@pytest.fixture
def airflow(three, tmp_path):
    """The project with these lanes and overrides, and the URL of the stand-in for Airflow's git."""
    path = three.track_folder(TRACK) / "track.toml"
    path.write_text(path.read_text().partition("[[lanes]]")[0] + LANES)
    overrides = three.root / "breeze-overrides" / "files" / "airflow-breeze-config"
    overrides.mkdir(parents=True)
    (overrides / "environment_variables.env").write_text("A=1\n")
    (overrides / "init.sh").write_text("echo hello\n")
    return make_upstream(tmp_path / "upstream")


@pytest.fixture
def breeze(tmp_path, monkeypatch):
    """Give a function that puts a recording `breeze` on PATH, and one that reads what it recorded."""
    log = tmp_path / "breeze.log"

    def put(fails="\0"):
        folder = tmp_path / "bin"
        folder.mkdir()
        (folder / "breeze").write_text(RECORDER.format(python=sys.executable, log=str(log), fails=fails))
        (folder / "breeze").chmod(0o755)
        monkeypatch.setenv("PATH", f"{folder}:{Path(sys.executable).parent}:/usr/bin:/bin")

    def recorded():
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    return put, recorded


def git_tree(project, url):
    return fetch(project, load_track(project, TRACK), source="git", url=url)


def run(project, url, *words):
    return invoke("run", "--runner", "breeze", "--url", url, *words, project=project)


class TestRun:
    def test_every_lane_in_order_in_the_patched_checkout(self, three, airflow, breeze):
        put, recorded = breeze
        put()
        ended = run(three, airflow)
        assert ended.code == 0
        assert ended.out.splitlines() == ["head: good", "compat-2.11.1: good", "compat-3.1.8: good"]
        calls = recorded()
        assert [shlex.join(["breeze", *words]) for words, _, _ in calls] == [
            *HEAD,
            PREPARE,
            TEST_2_11,
            PREPARE,
            TEST_3_1,
        ]
        tree = git_tree(three, airflow)
        assert {folder for _, folder, _ in calls} == {str(tree.git.folder)}
        assert [subject.split()[1] for subject in subjects(tree)] == ["one", "two", "three"]
        assert all(more == {"SKIP_BREEZE_SELF_UPGRADE_CHECK": "true", "ANSWER": "yes"} for _, _, more in calls)

    def test_chosen_lanes_only(self, three, airflow, breeze):
        put, recorded = breeze
        put()
        assert run(three, airflow, "--lane", "compat-3.1.8").out == "compat-3.1.8: good\n"
        assert [shlex.join(["breeze", *words]) for words, _, _ in recorded()] == [PREPARE, TEST_3_1]

    def test_the_overrides_are_where_breeze_reads_them(self, three, airflow, breeze):
        breeze[0]()
        run(three, airflow, "--lane", "head")
        folder = git_tree(three, airflow).git.folder / "files" / "airflow-breeze-config"
        assert {path.name: path.read_text() for path in folder.iterdir()} == {
            "environment_variables.env": "A=1\n",
            "init.sh": "echo hello\n",
        }

    def test_overrides_do_not_stop_the_next_run(self, three, airflow, breeze):
        breeze[0]()
        assert run(three, airflow, "--lane", "head").code == 0
        (three.root / "breeze-overrides" / "files" / "airflow-breeze-config" / "init.sh").write_text("changed\n")
        assert run(three, airflow, "--lane", "head").code == 0
        folder = git_tree(three, airflow).git.folder / "files" / "airflow-breeze-config"
        assert (folder / "init.sh").read_text() == "changed\n"

    def test_a_log_for_each_command(self, three, airflow, breeze):
        breeze[0]()
        ended = run(three, airflow, "--lane", "compat-3.1.8")
        first, second = (three.logs / f"breeze-compat-3.1.8-{n}.log" for n in (1, 2))
        assert first.read_text() == f"$ {PREPARE}\nbreeze says hello\n"
        assert second.read_text() == f"$ {TEST_3_1}\nbreeze says hello\n"
        assert f"compat-3.1.8: {PREPARE} (log: {first})" in ended.err

    def test_a_failing_lane_ends_with_1_and_the_others_still_run(self, three, airflow, breeze):
        put, recorded = breeze
        put(fails="2.11.1")
        ended = run(three, airflow)
        assert ended.code == 1
        assert ended.out.splitlines() == ["head: good", "compat-2.11.1: failed", "compat-3.1.8: good"]
        assert len(recorded()) == 6

    def test_a_lane_whose_wheels_cannot_be_made_is_not_tested(self, three, airflow, breeze):
        put, recorded = breeze
        put(fails="prepare-provider-distributions")
        ended = run(three, airflow, "--lane", "compat-3.1.8")
        assert (ended.code, ended.out) == (1, "compat-3.1.8: failed\n")
        assert [words[0] for words, _, _ in recorded()] == ["release-management"]


class TestDryRun:
    def test_prints_the_commands_and_runs_nothing(self, three, airflow, breeze):
        put, recorded = breeze
        put()
        ended = run(three, airflow, "--dry-run")
        assert ended.code == 0
        assert ended.out.splitlines() == [*HEAD, PREPARE, TEST_2_11, PREPARE, TEST_3_1]
        assert recorded() == []
        assert not (git_tree(three, airflow).git.folder / "files").exists()

    def test_needs_no_breeze(self, three, airflow, monkeypatch):
        monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
        assert run(three, airflow, "--dry-run", "--lane", "compat-3.1.8").out.splitlines() == [PREPARE, TEST_3_1]


class TestRefused:
    def test_without_breeze(self, three, airflow, monkeypatch):
        monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
        ended = run(three, airflow)
        folder = git_tree(three, airflow).git.folder
        assert (ended.code, ended.out) == (1, "")
        assert ended.err.endswith(
            f"error: no breeze on PATH; install the checkout's own: uv tool install -e {folder}/dev/breeze\n"
        )

    def test_a_series_that_does_not_apply(self, three, airflow, breeze):
        put, recorded = breeze
        put()
        edit_patch(three.track_folder(TRACK) / "one.patch", " line_1 = 1\n", " line_0 = 0\n")
        ended = run(three, airflow)
        assert ended.code == 1
        assert "the series does not apply; see `launchguard apply --source git`" in ended.err
        assert recorded() == []

    def test_an_unknown_lane(self, three, airflow, breeze):
        put, recorded = breeze
        put()
        ended = run(three, airflow, "--lane", "odd")
        assert ended.code == 1
        assert "has no lane 'odd'; it has head, compat-2.11.1, compat-3.1.8" in ended.err
        assert recorded() == []


def test_the_runner_itself_gives_the_exit_code(three, airflow, breeze):
    breeze[0](fails="testing")
    assert run_breeze(three, git_tree(three, airflow), lanes=["compat-3.1.8"], dry_run=False) == Exit.PROBLEMS
    with pytest.raises(LaunchguardError, match="has no lane"):
        run_breeze(three, git_tree(three, airflow), lanes=["odd"], dry_run=True)


def test_the_projects_own_overrides_can_be_installed(tmp_path):
    project = Project(Path(launchguard.__file__).resolve().parents[2])
    install_overrides(project, tmp_path)
    names = {path.name for path in (tmp_path / "files" / "airflow-breeze-config").iterdir()}
    assert {"environment_variables.env", "init.sh"} <= names


def test_the_stand_in_has_the_series_own_base(three, airflow):
    assert git_tree(three, airflow).base != make_tree(three).base
