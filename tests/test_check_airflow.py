"""The checks that need Airflow itself, on the pinned one: a patch that breaks both is told of both."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from factories import Change, add_series, make_tree

from launchguard.check import check
from launchguard.modelcheck import MODELS, SCRIPT
from launchguard.project import Project

ROOT = Path(__file__).resolve().parents[1]
TRACK = "3.3.0"
MODULE = "airflow-core/src/airflow/api_fastapi/execution_api/datamodels/variable.py"
FIELD = "    val: str | None ="
pytestmark = [pytest.mark.airflow, pytest.mark.network, pytest.mark.timeout(900)]


@pytest.fixture
def bare(tmp_path, monkeypatch):
    """The track without its series, in a build folder that is kept but for the answers."""
    build = ROOT / "build/test-checks"
    monkeypatch.setenv("LAUNCHGUARD_BUILD", str(build))
    shutil.rmtree(build / "results", ignore_errors=True)
    lanes = tmp_path / "patches" / TRACK / "lanes"
    lanes.mkdir(parents=True)
    for name in ("track.toml", "lanes/head.txt"):
        shutil.copy(ROOT / "patches" / TRACK / name, lanes.parent / name)
    return Project(tmp_path)


def test_a_type_error_and_a_field_without_its_model(bare):
    tree = make_tree(bare, TRACK)
    text = tree.git.run("show", f"{tree.base}:{MODULE}").text
    broken = text.replace(FIELD, f"    origin: str | None = None\n{FIELD}", 1) + '\n\nLIMIT: int = "none"\n'
    add_series(bare, Change("broken", {MODULE: broken}), track=TRACK)
    failing = {one.name: list(one.faults) for one in check(bare, tree) if one.faults}
    (wrong,) = failing.pop("no type errors that the base has not")
    line = len(broken.splitlines())
    assert wrong.startswith(f"mypy: {MODULE}:{line}: Incompatible types in assignment")
    (stale,) = failing.pop("generated models are in step")
    said, right = stale.split("; replace it by ")
    assert said == f"{MODELS}: not what {SCRIPT} makes"
    assert "    origin: Annotated[str | None" in (bare.root / right).read_text()
    assert failing == {}
