from __future__ import annotations

from factories import SCHEDULER, Change, add_series, make_tree, numbered
from series_factories import change_base, check_failing

from launchguard import treecheck
from launchguard.check import check

RULES = "patched files keep Airflow's rules"


def add_bad(project, files):
    add_series(project, Change("bad", files))
    return check_failing(project)


def test_ruff_with_the_trees_own_settings(three):
    found = add_bad(three, {SCHEDULER: "import os\n" + numbered("line", _2="x=1")})
    assert list(found) == [RULES]
    assert any(line.startswith(f"ruff check: {SCHEDULER}:1:8: F401 ") for line in found[RULES])
    assert any(line.startswith("ruff format: ") and SCHEDULER in line for line in found[RULES])


def test_the_line_length_is_the_trees(three):
    """110 columns in its pyproject.toml; ruff's own default would have this list in several lines."""
    long = f"line_2 = [{', '.join(['1000000'] * 11)}]"
    assert len(long) == 108
    assert add_bad(three, {SCHEDULER: numbered("line", _2=long)}) == {}


def test_files_that_no_patch_touches_are_not_looked_at(three):
    change_base(three, task_sdk={"ugly.py": "import os\nx=1\n"})
    assert check_failing(three) == {}


def test_a_new_file_without_the_licence(three):
    files = {f"task-sdk/new{end}": "x: 1\n" for end in (".py", ".rst", ".yaml", ".yml", ".toml", ".sh")}
    files["task-sdk/new.py"] = "x = 1\n"
    found = add_bad(three, files | {"task-sdk/new.txt": "x\n", "task-sdk/data.json": "{}\n"})
    assert sorted(found[RULES]) == sorted(f"{path}: a new file without the Apache licence header" for path in files)


def test_what_needs_no_licence(three):
    licensed = "# Licensed to the Apache Software Foundation (ASF) under one\nx = 1\n"
    files = {
        "airflow-core/src/airflow/new/__init__.py": "",
        "airflow-core/newsfragments/1.rst": "x\n",
        "task-sdk/a.py": licensed,
    }
    assert add_bad(three, files) == {}


def test_a_removed_file_is_not_looked_at(three):
    assert add_bad(three, {"task-sdk/tests/test_sdk.py": None, SCHEDULER: None}) == {}


def test_syntax_that_the_lanes_python_lacks(three):
    found = add_bad(three, {SCHEDULER: "def broken(:\n"})
    lines = found[RULES]
    assert any(line.startswith("compileall 3.") and "SyntaxError" in line for line in lines)
    assert any(SCHEDULER in line for line in lines if line.startswith("compileall"))


def test_compiling_leaves_nothing_in_the_exported_files(three):
    check(three, make_tree(three))
    assert list((three.build / "snapshots").rglob("*.pyc")) == []


def test_a_track_without_lanes_is_compiled_with_airflows_lowest_python(three, monkeypatch):
    asked = []
    find = treecheck.find_python
    monkeypatch.setattr(treecheck, "find_python", lambda version: asked.append(version) or find("3.11"))
    path = three.track_folder("1.2.0") / "track.toml"
    path.write_text(path.read_text().partition("[[lanes]]")[0])
    check(three, make_tree(three))
    assert asked == ["3.10"]
