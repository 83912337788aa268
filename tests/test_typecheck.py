from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from factories import EXECUTOR, SCHEDULER, Change, add_series, invoke, make_tree, numbered
from series_factories import LICENCE, change_base, check_failing, check_untold

from launchguard.errors import Exit, LaunchguardError
from launchguard.lanecheck import check_lane
from launchguard.typecheck import settings_text

TYPES = "no type errors that the base has not"
MYPY = Path(sys.executable).with_name("mypy")
SETTINGS = """
[tool.ruff]
line-length = 110
[tool.mypy]
plugins = ["airflow_mypy.plugins.decorators"]
namespace_packages = true
explicit_package_bases = true
disable_error_code = ["operator"]
mypy_path = ["$MYPY_CONFIG_FILE_DIR/airflow-core/src", "$MYPY_CONFIG_FILE_DIR/providers/cncf/kubernetes/src"]
[[tool.mypy.overrides]]
module = "airflow.jobs.strict"
disallow_untyped_defs = true
"""
WRONG = 'x: int = "text"'
TOLD = 'Incompatible types in assignment (expression has type "str", variable has type "int") [assignment]'
# Counts its calls, since a kept answer costs none.
COUNTING = '#!/bin/sh\necho called >> "{log}"\nexec "{mypy}" "$@"\n'
CRASHING = "#!/bin/sh\necho 'INTERNAL ERROR' >&2\nexit 2\n"


@pytest.fixture
def typed(project, monkeypatch):
    """A project whose tree has mypy settings, and whose lane has an empty lock."""
    monkeypatch.setenv("LAUNCHGUARD_MYPY", str(MYPY))
    change_base(project, root={"pyproject.toml": SETTINGS})
    lock = project.track_folder("1.2.0") / "lanes/head.txt"
    lock.parent.mkdir()
    lock.write_text("# nothing\n")
    return project


def faults(project, files, slug="bad"):
    add_series(project, Change(slug, files))
    found = check_failing(project)
    assert set(found) <= {TYPES}
    return found.get(TYPES, [])


def program(path, text, monkeypatch):
    path.write_text(text)
    path.chmod(0o755)
    monkeypatch.setenv("LAUNCHGUARD_MYPY", str(path))


def test_an_error_is_told_with_its_line(typed):
    assert faults(typed, {SCHEDULER: numbered("line", _7=WRONG)}) == [f"mypy: {SCHEDULER}:7: {TOLD}"]


def test_a_new_module_that_is_good_passes_whatever_mypy_notes(typed):
    new = "airflow-core/src/airflow/jobs/new.py"
    assert faults(typed, {new: f"{LICENCE}from typing import reveal_type\n\nreveal_type(1)\n"}) == []


def test_modules_import_each_other_from_the_trees_parts(typed):
    new = EXECUTOR.replace("executor.py", "new.py")
    wrong = f"{LICENCE}from airflow.jobs.scheduler import line_3\n\nx: str = line_3\n"
    (fault,) = faults(typed, {new: wrong})
    assert fault.startswith(f"mypy: {new}:4: Incompatible types")


def test_modules_of_the_users_are_not_found(typed, tmp_path, monkeypatch):
    (tmp_path / "conjured.py").write_text("x = 1\n")
    monkeypatch.setenv("MYPYPATH", str(tmp_path))
    new = "airflow-core/src/airflow/jobs/new.py"
    (fault,) = faults(typed, {new: f"{LICENCE}import conjured\n\nx = conjured.x\n"})
    assert "conjured" in fault


class TestTheBasesOwnErrors:
    @pytest.fixture
    def flawed(self, typed):
        base = {"src/airflow/jobs/scheduler.py": numbered("line", _7=WRONG)}
        change_base(typed, core=base, root={"pyproject.toml": SETTINGS})
        return typed

    def test_count_for_nothing_wherever_they_move(self, flawed):
        assert faults(flawed, {SCHEDULER: "line_0 = 0\n" + numbered("line", _7=WRONG)}) == []

    def test_hide_no_second_one_of_their_kind(self, flawed):
        two = numbered("line", _7=WRONG, _9=WRONG.replace("x", "y"))
        assert faults(flawed, {SCHEDULER: two}) == [f"mypy: {SCHEDULER}:9: {TOLD}"]

    def test_in_modules_that_no_patch_touches_are_not_told(self, flawed):
        new = "airflow-core/src/airflow/jobs/new.py"
        assert faults(flawed, {new: f"{LICENCE}import airflow.jobs.scheduler  # noqa: F401\n"}) == []


def test_tests_are_not_looked_at(typed):
    assert faults(typed, {"airflow-core/tests/unit/test_new.py": f"{LICENCE}{WRONG}\n"}) == []


def test_the_settings_are_the_trees(typed):
    untyped = f"{LICENCE}\n\ndef f():\n    pass\n"
    files = {f"airflow-core/src/airflow/jobs/{name}.py": untyped for name in ("strict", "lax")}
    files["airflow-core/src/airflow/jobs/adding.py"] = f'{LICENCE}x = 1 + ""\n'  # its code is disabled
    (fault,) = faults(typed, files)
    assert fault == (
        "mypy: airflow-core/src/airflow/jobs/strict.py:4: Function is missing a return type annotation [no-untyped-def]"
    )


def test_a_tree_without_settings_is_not_checked(three, monkeypatch):
    monkeypatch.setenv("LAUNCHGUARD_MYPY", "/there/is/none")
    assert check_failing(three) == {}


def test_an_answer_is_kept_until_a_source_changes(typed, tmp_path, monkeypatch):
    log = tmp_path / "calls"
    program(tmp_path / "mypy", COUNTING.format(log=log, mypy=MYPY), monkeypatch)
    wrong = {SCHEDULER: numbered("line", _7=WRONG)}
    first = faults(typed, wrong)
    assert check_failing(typed) == {TYPES: first}
    assert len(log.read_text().splitlines()) == 2  # the base's and the series'
    assert faults(typed, {SCHEDULER: numbered("line", _7=WRONG, _8=WRONG.replace("x", "y"))}, "worse") != first
    assert len(log.read_text().splitlines()) == 3


def test_a_file_that_cannot_be_parsed(typed):
    add_series(typed, Change("bad", {SCHEDULER: "def broken(:\n"}))
    found = check_failing(typed)[TYPES]
    assert found[0].startswith(f"mypy: {SCHEDULER}:1: ")
    assert found[0].endswith(" [syntax]")


def test_a_mypy_that_cannot_go_on_is_no_pass(typed, tmp_path, monkeypatch):
    program(tmp_path / "mypy", CRASHING, monkeypatch)
    add_series(typed, Change("bad", {SCHEDULER: numbered("line", _7=WRONG)}))
    why = check_untold(typed)[TYPES]
    assert why.startswith("command failed with code 2: ")
    assert "INTERNAL ERROR" in why


def test_a_lane_without_lock_is_no_pass(typed):
    (typed.track_folder("1.2.0") / "lanes/head.txt").unlink()
    add_series(typed, Change("bad", {SCHEDULER: numbered("line", _7=WRONG)}))
    why = "lane head has no lock; make it with `launchguard lanes lock head`"
    assert check_untold(typed) == {TYPES: why}
    ended = invoke("check", project=typed)
    assert f"??  {TYPES}\n      cannot tell: {why}" in ended.out
    assert ended.code == Exit.CANNOT_TELL


def test_a_track_whose_lanes_all_take_released_parts(three):
    path = three.track_folder("1.2.0") / "track.toml"
    path.write_text(path.read_text().replace('patched = ["core", ', "patched = ["))
    with pytest.raises(LaunchguardError, match=r"no lane that takes core, provider, task-sdk from the tree"):
        check_lane(make_tree(three).track)


def test_settings_are_written_as_mypy_reads_them(tmp_path):
    """Every kind of value that Airflow's settings have: a text with quotes and backslash, a list, a boolean."""
    odd = {"exclude": ['a"b\\.py', "é"], "strict": True, "overrides": [{"module": ["a.*"], "ignore_errors": True}]}
    assert settings_text(odd, tmp_path) == (
        '[tool.mypy]\nexclude = ["a\\"b\\\\.py", "é"]\nstrict = true\n'
        '[[tool.mypy.overrides]]\nmodule = ["a.*"]\nignore_errors = true\n'
    )
    config = tmp_path / "mypy.toml"
    config.write_text(settings_text(odd, tmp_path), encoding="utf-8")
    (tmp_path / "good.py").write_text("x = 1\n")
    ended = subprocess.run(
        (MYPY, f"--config-file={config}", "good.py"), cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
