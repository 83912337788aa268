"""Airflow's own rules on what the patches touch: its ruff settings, licence headers, the lowest Python."""

from __future__ import annotations

import tempfile
from typing import TYPE_CHECKING

from launchguard.interpreters import find_python
from launchguard.process import run
from launchguard.snapshot import export_tree
from launchguard.uv import tool_command, uv_environment

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from launchguard.fetch import Tree
    from launchguard.project import Project

LICENCE = "Licensed to the Apache Software Foundation (ASF)"
# New files of these kinds carry the licence header, as upstream's own hooks ask.
LICENSED = (".py", ".rst", ".yaml", ".yml", ".toml", ".sh")


def tree_faults(project: Project, tree: Tree, head: str) -> Iterator[str]:
    """Check the files that differ between the base and `head`, a line for each fault."""
    changed = tree.git.run("diff", "--name-status", "--no-renames", "-z", tree.base, head).text.split("\0")
    pairs = list(zip(changed[::2], changed[1::2], strict=False))
    present = [path for status, path in pairs if status != "D"]
    folder = export_tree(project, tree.git, head)
    yield from _licence_faults(folder, [path for status, path in pairs if status == "A"])
    python = [path for path in present if path.endswith(".py")]
    if python:
        yield from _ruff_faults(folder, python, tool_command("ruff", tree.track.packages_until))
        yield from _compile_faults(folder, python, tree.track.lanes[0].python if tree.track.lanes else "3.10")


def _licence_faults(folder: Path, added: list[str]) -> Iterator[str]:
    for path in added:
        if path.endswith(LICENSED) and "/newsfragments/" not in path:
            text = (folder / path).read_text(encoding="utf-8", errors="replace")
            if text.strip() and LICENCE not in text[:400]:
                yield f"{path}: a new file without the Apache licence header"


def _ruff_faults(folder: Path, paths: list[str], ruff: Sequence[str]) -> Iterator[str]:
    for words in (("check", "--quiet", "--output-format=concise"), ("format", "--check", "--quiet")):
        ended = run(*ruff, *words, "--no-cache", *paths, cwd=folder, env=uv_environment(), check=False)
        if ended.code:
            lines = [line for line in (ended.text + ended.messages).splitlines() if line.strip()]
            yield from (f"ruff {words[0]}: {line}" for line in lines or [f"exit code {ended.code}"])


def _compile_faults(folder: Path, paths: list[str], version: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory(prefix="launchguard-pyc-") as scratch:
        ended = run(
            find_python(version),
            "-X",
            f"pycache_prefix={scratch}",
            "-m",
            "compileall",
            "-q",
            *paths,
            cwd=folder,
            check=False,
        )
    if ended.code:
        yield from (f"compileall {version}: {line}" for line in ended.text.splitlines() if line.strip())
