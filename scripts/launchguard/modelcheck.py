"""Whether the task SDK's generated models are what Airflow's own script makes of the execution API."""

from __future__ import annotations

import os
import shutil
import tempfile
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from launchguard import console
from launchguard.lanecheck import answer_path, check_venv, keep_answer
from launchguard.process import run
from launchguard.snapshot import export_tree
from launchguard.uv import uv_environment, uv_program

if TYPE_CHECKING:
    from launchguard.fetch import Tree
    from launchguard.project import Project

MODELS = "task-sdk/src/airflow/sdk/api/datamodels/_generated.py"
SCRIPTS = "task-sdk/dev"
SCRIPT = f"{SCRIPTS}/generate_task_sdk_models.py"
SETTINGS = "task-sdk/pyproject.toml"
ROOT_SETTINGS = "pyproject.toml"  # the ruff settings that those of the task SDK extend
SOURCES = ("airflow-core/src", "task-sdk/src")
INPUTS = (*SOURCES, SCRIPTS, SETTINGS, ROOT_SETTINGS)
# The script's formatter reads it from the monorepo, and calls ruff, which is no part of its dependency group.
LICENCE = "scripts/ci/license-templates/LICENSE.txt"
LICENCE_TEXT = Path(__file__).with_name("templates") / "asf-licence.txt"
RUFF = "ruff"


@dataclass(frozen=True)
class ModelsChecked:
    """What there is to say of the models; a warning where the released ones cannot be made again."""

    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


def check_models(project: Project, tree: Tree, head: str) -> ModelsChecked:
    """Compare the models of `head` with what the script makes of it.

    Those of the base come first: where they cannot be made again, a difference would mean nothing. A base
    without such models is not checked.

    Raises:
        LaunchguardError: there is no environment to generate in, or the script failed.
    """
    if tree.git.blob(tree.base, MODELS) is None:
        return ModelsChecked()
    if tree.git.blob(head, SCRIPT) is None:
        return ModelsChecked(warnings=(f"{MODELS}: not checked, since there is no {SCRIPT}",))
    if not _in_step(tree, tree.base, generated_models(project, tree, tree.base)):
        return ModelsChecked(warnings=(f"{MODELS}: not checked, since the base's cannot be made again here",))
    right = generated_models(project, tree, head)
    if _in_step(tree, head, right):
        return ModelsChecked()
    return ModelsChecked((f"{MODELS}: not what {SCRIPT} makes; replace it by {os.path.relpath(right, project.root)}",))


def _in_step(tree: Tree, revision: str, right: Path) -> bool:
    return tree.git.run("show", f"{revision}:{MODELS}", check=False).out == right.read_bytes()


def generated_models(project: Project, tree: Tree, revision: str) -> Path:
    """Give the file that Airflow's script generates from a revision, made once for each content."""
    inputs = [tree.git.line("rev-parse", f"{revision}:{path}") for path in INPUTS]
    answer = answer_path(project, tree, "models", inputs).with_suffix(".py")
    if not answer.is_file():
        with console.working("generating the task SDK's models"):
            keep_answer(answer, _generate(project, tree, revision))
    return answer


def _generate(project: Project, tree: Tree, revision: str) -> bytes:
    folder = export_tree(project, tree.git, revision)
    python = check_venv(project, tree).python
    with tempfile.TemporaryDirectory(prefix="launchguard-models-") as scratch:
        made = _lay_out(folder, Path(scratch))
        limits = ("--no-project", "--quiet", "--python", python, "--exclude-newer", tree.track.packages_until)
        wanted = [word for requirement in _requirements(folder) for word in ("--with", requirement)]
        environment = _environment(folder) | {"AIRFLOW_HOME": scratch}
        run(uv_program(), "run", *limits, *wanted, "python", Path(scratch) / SCRIPT, env=environment)
        return made.read_bytes()


def _environment(folder: Path) -> dict[str, str]:
    """Give uv's environment with the sources of `folder` in front, and none of the user's Airflow settings."""
    return {name: value for name, value in uv_environment().items() if not name.startswith("AIRFLOW_")} | {
        "PYTHONPATH": os.pathsep.join(str(folder / path) for path in SOURCES),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def _lay_out(folder: Path, scratch: Path) -> Path:
    """Make a monorepo of what the script reads and writes; gives where it writes the models."""
    shutil.copytree(folder / SCRIPTS, scratch / SCRIPTS)
    for path in (SETTINGS, ROOT_SETTINGS):
        shutil.copy(folder / path, scratch / path)
    (scratch / "airflow-core").symlink_to(folder / "airflow-core")
    for path in (MODELS, LICENCE):
        (scratch / path).parent.mkdir(parents=True)
    shutil.copy(LICENCE_TEXT, scratch / LICENCE)
    return scratch / MODELS


def _requirements(folder: Path) -> list[str]:
    settings = tomllib.loads((folder / SETTINGS).read_text(encoding="utf-8"))
    group = settings.get("dependency-groups", {}).get("codegen", [])
    return [entry for entry in group if isinstance(entry, str)] + [RUFF]
