from __future__ import annotations

import pytest
from factories import SCHEDULER, Change, add_series, make_tree, numbered
from series_factories import change_base, check_failing, check_untold

from launchguard.check import check
from launchguard.modelcheck import MODELS, SCRIPT
from launchguard.uv import uv_program

IN_STEP = "generated models are in step"
ROUTES = "airflow-core/src/airflow/routes.py"
# Does on a small scale what Airflow's script does: imports the API, reads its settings, the root's (through ruff) and
# the monorepo's licence, uses what stands beside it, and writes where it stands.
GENERATOR = """
import os
import sys
import tomllib
from pathlib import Path

import formatter_beside
from airflow.routes import FIELDS
import airflow.sdk.marker

if "AIRFLOW__CORE__EXECUTOR" in os.environ or not os.environ["AIRFLOW_HOME"].startswith(str(Path(__file__).parents[2])):
    sys.exit("the user's settings are here")
task_sdk = Path(__file__).parents[1]
settings = tomllib.loads((task_sdk / "pyproject.toml").read_text())["tool"]["datamodel-codegen"]
root_settings = tomllib.loads((task_sdk.parent / "pyproject.toml").read_text())["tool"]["ruff"]
licence = (task_sdk.parent / "scripts/ci/license-templates/LICENSE.txt").read_text().splitlines()
lines = [f"# {line}".rstrip() for line in licence] + [f"{field}: {settings['type']}" for field in FIELDS]
(task_sdk / "src/airflow/sdk/api/datamodels/_generated.py").write_text(formatter_beside.formatted(lines))
"""
FORMATTER = 'def formatted(lines):\n    return "\\n".join(lines) + "\\n"\n'
SETTINGS = """[dependency-groups]
codegen = ["datamodel-code-generator[http]==0.33.0", "rich>=13.6.0", {include-group = "dev"}]
[tool.datamodel-codegen]
type = "str"
"""
LICENCE = """\
# Licensed to the Apache Software Foundation (ASF) under one
# or more contributor license agreements.  See the NOTICE file
# distributed with this work for additional information
# regarding copyright ownership.  The ASF licenses this file
# to you under the Apache License, Version 2.0 (the
# "License"); you may not use this file except in compliance
# with the License.  You may obtain a copy of the License at
#
#   http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing,
# software distributed under the License is distributed on an
# "AS IS" BASIS, WITHOUT WARRANTIES OR CONDITIONS OF ANY
# KIND, either express or implied.  See the License for the
# specific language governing permissions and limitations
# under the License.
"""
SDK = {
    "dev/generate_task_sdk_models.py": GENERATOR,
    "dev/formatter_beside.py": FORMATTER,
    "pyproject.toml": SETTINGS,
    "src/airflow/sdk/marker.py": "",
    "src/airflow/sdk/api/datamodels/_generated.py": f"{LICENCE}id: str\n",
}
CORE = {
    "src/airflow/__init__.py": "__path__ = __import__('pkgutil').extend_path(__path__, __name__)\n",
    "src/airflow/routes.py": "FIELDS = ['id']\n",
}
# Runs a script without fetching what it asks for, and notes the call; all else is the real uv's.
UV = """#!/bin/sh
if [ "$1" != run ]; then exec "{uv}" "$@"; fi
echo "$*" >> "{log}"
while [ "$1" != python ]; do shift; done
exec "$@"
"""


@pytest.fixture
def log(tmp_path, monkeypatch):
    uv, log = tmp_path / "uv", tmp_path / "calls"
    uv.write_text(UV.format(uv=uv_program(), log=log))
    uv.chmod(0o755)
    monkeypatch.setenv("LAUNCHGUARD_UV", str(uv))
    return log


@pytest.fixture
def modelled(project, log):
    """A project whose task SDK has generated models, and the script."""
    change_base(project, core=CORE, task_sdk=SDK)
    lock = project.track_folder("1.2.0") / "lanes/head.txt"
    lock.parent.mkdir()
    lock.write_text("# nothing\n")
    return project


def models(*fields):
    return LICENCE + "".join(f"{field}: str\n" for field in fields)


def api(*fields):
    return f"{LICENCE}FIELDS = {list(fields)!r}\n".replace("'", '"')


def warnings(project):
    return {one.name: one.warnings for one in check(project, make_tree(project)) if one.warnings}


def test_a_field_without_its_model(modelled):
    add_series(modelled, Change("field", {ROUTES: api("id", "token")}))
    (fault,) = check_failing(modelled)[IN_STEP]
    said, right = fault.split("; replace it by ")
    assert said == f"{MODELS}: not what {SCRIPT} makes"
    assert (modelled.root / right).read_text() == models("id", "token")


def test_the_file_that_is_named_puts_it_right(modelled):
    add_series(modelled, Change("field", {ROUTES: api("id", "token")}))
    right = check_failing(modelled)[IN_STEP][0].split("; replace it by ")[1]
    add_series(modelled, Change("models", {MODELS: (modelled.root / right).read_bytes()}))
    assert check_failing(modelled) == {}


def test_models_written_by_hand(modelled):
    add_series(modelled, Change("hand", {MODELS: models("id", "extra")}))
    assert len(check_failing(modelled)[IN_STEP]) == 1


@pytest.mark.parametrize(
    ("path", "old", "new"),
    [
        ("dev/formatter_beside.py", '"\\n".join', '"\\n\\n".join'),
        ("pyproject.toml", 'type = "str"', 'type = "int"'),
        ("src/airflow/sdk/marker.py", "", "import airflow.routes\n\nairflow.routes.FIELDS.append('token')\n"),
    ],
)
def test_whatever_goes_into_the_models_may_put_them_out_of_step(modelled, path, old, new):
    text = LICENCE * path.endswith(".py") + SDK[path]
    add_series(modelled, Change("input", {f"task-sdk/{path}": text.replace(old, new, 1) if old else text + new}))
    assert len(check_failing(modelled)[IN_STEP]) == 1


def test_the_users_own_airflow_is_left_alone(modelled, monkeypatch):
    monkeypatch.setenv("AIRFLOW_HOME", "/users")
    monkeypatch.setenv("AIRFLOW__CORE__EXECUTOR", "Odd")
    add_series(modelled, Change("field", {ROUTES: api("id", "token"), MODELS: models("id", "token")}))
    assert check_failing(modelled) == {}


def test_removed_models(modelled):
    add_series(modelled, Change("gone", {MODELS: None}))
    (fault,) = check_failing(modelled)[IN_STEP]
    assert fault.startswith(f"{MODELS}: not what {SCRIPT} makes")


def test_a_base_without_models_is_not_checked(three, log):
    assert check_failing(three) == warnings(three) == {}
    assert not log.exists()


def test_a_script_that_moved_away_is_told(modelled):
    add_series(modelled, Change("moved", {SCRIPT: None}))
    assert check_failing(modelled) == {}
    assert warnings(modelled) == {IN_STEP: (f"{MODELS}: not checked, since there is no {SCRIPT}",)}


def test_a_base_that_cannot_be_made_again_is_told(modelled):
    change_base(modelled, core=CORE, task_sdk=SDK | {"src/airflow/sdk/api/datamodels/_generated.py": "old\n"})
    add_series(modelled, Change("field", {ROUTES: api("id", "token")}))
    assert check_failing(modelled) == {}
    assert warnings(modelled) == {IN_STEP: (f"{MODELS}: not checked, since the base's cannot be made again here",)}


def test_a_script_that_fails_is_no_pass(modelled):
    add_series(modelled, Change("broken", {ROUTES: f'{LICENCE}raise ValueError("broken")\n'}))
    why = check_untold(modelled)[IN_STEP]
    assert why.startswith("command failed with code 1: ")
    assert "ValueError: broken" in why


def test_what_is_asked_for_and_how_often(modelled, log):
    """Once for the base and once for the series; then from the cache, also after a patch that changes no input."""
    add_series(modelled, Change("field", {ROUTES: api("id", "token"), MODELS: models("id", "token")}))
    assert check_failing(modelled) == {}
    add_series(modelled, Change("other", {"providers/cncf/kubernetes/provider.yaml": f"{LICENCE}name: other\n"}))
    assert check_failing(modelled) == {}
    calls = [line.split() for line in log.read_text().splitlines()]
    assert len(calls) == 2
    python = modelled.build / "venvs/1.2.0-head-unpatched/bin/python"
    assert " ".join(calls[0]).startswith(
        f"run --no-project --quiet --python {python} --exclude-newer 2026-07-20T00:00:00Z "
        "--with datamodel-code-generator[http]==0.33.0 --with rich>=13.6.0 --with ruff python "
    )
    add_series(modelled, Change("core", {SCHEDULER: numbered("line", _3="line_3 = 4")}))
    assert check_failing(modelled) == {}
    assert len(log.read_text().splitlines()) == 3


def test_generating_leaves_nothing_in_the_exported_files(modelled, monkeypatch):
    monkeypatch.delenv("PYTHONDONTWRITEBYTECODE", raising=False)
    add_series(modelled, Change("field", {ROUTES: api("id", "token")}))
    assert IN_STEP in check_failing(modelled)
    folders = list((modelled.build / "snapshots").iterdir())
    assert len(folders) == 2
    assert [path for folder in folders for path in folder.rglob("*.pyc")] == []
    assert [path for folder in folders for path in folder.rglob("LICENSE.txt")] == []
