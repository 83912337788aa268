"""mypy, with Airflow's own settings, on the modules that a series touches.

Outside of the monorepo the released Airflow is not free of errors, so only those count that the base has not.
"""

from __future__ import annotations

import json
import tempfile
import tomllib
from collections import Counter
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import msgspec

from launchguard import console
from launchguard.lanecheck import answer_path, check_venv, keep_answer
from launchguard.process import CommandError, Completed, run
from launchguard.snapshot import export_tree
from launchguard.track import CORE, PROVIDER, SDK
from launchguard.uv import tool_command, uv_environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from launchguard.fetch import Tree
    from launchguard.project import Project

SETTINGS = "pyproject.toml"
PARTS = (CORE, SDK, PROVIDER)
OPTIONS = ("--follow-imports=silent", "--no-pretty", "--no-error-summary", "--output=json")
# mypy ends with 1 where it found errors, and with 2 where it could not go on.
FOUND = 1


class TypeFault(msgspec.Struct, frozen=True):
    """One line of mypy's JSON."""

    file: str
    line: int
    message: str
    code: str | None
    severity: str

    @property
    def identity(self) -> tuple[str, str, str | None]:
        """What it is known by in another revision, where its line may be another one."""
        return self.file, self.message, self.code

    def __str__(self) -> str:
        return f"mypy: {self.file}:{self.line}: {self.message}" + (f" [{self.code}]" if self.code else "")


def type_faults(project: Project, tree: Tree, head: str) -> Iterator[str]:
    """Check the modules that differ between the base and `head`, a line for each error that the base has not.

    A tree whose root settings say nothing of mypy is not checked.

    Raises:
        LaunchguardError: there is no environment to check in, or mypy could not go on.
    """
    changed = tree.git.run("diff", "--name-only", "--no-renames", "-z", tree.base, head).text.split("\0")
    modules = sorted(path for path in changed if _is_module(path))
    if not modules or mypy_settings(tree, head) is None:
        return
    known = Counter(fault.identity for fault in _faults_at(project, tree, tree.base, modules))
    for fault in _faults_at(project, tree, head, modules):
        if known[fault.identity]:
            known[fault.identity] -= 1
        else:
            yield str(fault)


def _is_module(path: str) -> bool:
    return path.endswith(".py") and "tests" not in PurePosixPath(path).parts


def mypy_settings(tree: Tree, revision: str) -> dict[str, Any] | None:
    """Give `[tool.mypy]` of a revision's root without its plugins, which only the monorepo can import."""
    text = tree.git.run("show", f"{revision}:{SETTINGS}", check=False).text
    settings: dict[str, Any] | None = tomllib.loads(text).get("tool", {}).get("mypy")
    return settings and {key: value for key, value in settings.items() if key != "plugins"}


def _faults_at(project: Project, tree: Tree, revision: str, modules: Sequence[str]) -> list[TypeFault]:
    present = [path for path in modules if tree.git.blob(revision, path)]
    if not present:
        return []
    command = tool_command("mypy", tree.track.packages_until)
    sources = [tree.git.line("rev-parse", f"{revision}:{tree.track.part(name).folder}/src") for name in PARTS]
    inputs = (command[-1], OPTIONS, mypy_settings(tree, revision), sources, present)
    answer = answer_path(project, tree, "types", inputs)
    if not answer.is_file():
        with project.lock("mypy"), console.working(f"mypy on {len(present)} modules"):
            keep_answer(answer, msgspec.json.encode(_run_mypy(project, tree, revision, present)))
    return msgspec.json.decode(answer.read_bytes(), type=list[TypeFault])


def _run_mypy(project: Project, tree: Tree, revision: str, modules: Sequence[str]) -> list[TypeFault]:
    folder = export_tree(project, tree.git, revision)
    python = check_venv(project, tree).python
    with tempfile.TemporaryDirectory(prefix="launchguard-mypy-") as scratch:
        config = Path(scratch) / "mypy.toml"
        config.write_text(settings_text(mypy_settings(tree, revision) or {}, folder), encoding="utf-8")
        places = (f"--config-file={config}", f"--python-executable={python}", f"--cache-dir={project.cache / 'mypy'}")
        command = (*tool_command("mypy", tree.track.packages_until), *OPTIONS, "--sqlite-cache", *places, *modules)
        return _read(run(*command, cwd=folder, env=uv_environment() | {"MYPYPATH": ""}, check=False))


def _read(ended: Completed) -> list[TypeFault]:
    lines = [line for line in ended.text.splitlines() if line.startswith("{")]
    if ended.code > FOUND and not lines:
        raise CommandError(ended)
    faults = [msgspec.json.decode(line, type=TypeFault) for line in lines]
    return [fault for fault in faults if fault.severity == "error"]


def settings_text(settings: dict[str, Any], folder: Path) -> str:
    """Write mypy's settings for sources that stand in `folder`."""
    own = {key: value for key, value in settings.items() if key != "overrides"}
    tables = [("[tool.mypy]", own), *(("[[tool.mypy.overrides]]", table) for table in settings.get("overrides", []))]
    lines = [line for title, table in tables for line in (title, *(_toml_line(*pair) for pair in table.items()))]
    return "\n".join([*lines, ""]).replace("$MYPY_CONFIG_FILE_DIR", str(folder))


def _toml_line(key: str, value: object) -> str:
    """Write a key with a text, number, boolean or list of them, which JSON writes as TOML does."""
    return f"{key} = {json.dumps(value, ensure_ascii=False)}"
