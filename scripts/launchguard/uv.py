"""How uv, and the tools that it runs, are called."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from launchguard.errors import LaunchguardError
from launchguard.index import index_url
from launchguard.process import Completed, run

if TYPE_CHECKING:
    from collections.abc import Sequence


def uv_program() -> str:
    """Find uv: what the environment names, PATH, or the one that justw brought."""
    brought = Path(sys.prefix).parent / "bootstrap" / "bin" / "uv"
    named = os.environ.get("LAUNCHGUARD_UV") or shutil.which("uv") or (str(brought) if brought.is_file() else None)
    if named is None:
        raise LaunchguardError("no uv here; start launchguard through ./justw, which brings it, or pip install uv")
    return named


def uv_environment() -> dict[str, str]:
    """Give uv the index that pip was told of, the machine's certificates and no project of the folder it is in."""
    environment = {name: value for name, value in os.environ.items() if name not in {"VIRTUAL_ENV", "PYTHONPATH"}}
    environment.setdefault("UV_SYSTEM_CERTS", "1")
    if not any(name in environment for name in ("UV_DEFAULT_INDEX", "UV_INDEX_URL")):
        environment["UV_DEFAULT_INDEX"] = index_url()
    return environment | {"UV_NO_PROGRESS": "1"}


def uv(*words: str | os.PathLike[str], check: bool = True, cwd: Path | None = None) -> Completed:
    """Run one uv command; see `process.run`."""
    return run(uv_program(), *words, env=uv_environment(), check=check, cwd=cwd)


def tool_command(name: str, until: str) -> Sequence[str]:
    """Give the linter that was the newest one on a day, since each release finds more.

    Args:
        name: ruff or mypy; `LAUNCHGUARD_<NAME>` takes the place of either.
        until: the day, as in a track's `packages_until`.
    """
    named = os.environ.get(f"LAUNCHGUARD_{name.upper()}")
    return (named,) if named else (uv_program(), "tool", "run", "--quiet", "--exclude-newer", until, name)
