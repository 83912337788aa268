"""Finds the Python that a lane asks for: PATH, uv's own, pyenv's, and at last uv's download."""

from __future__ import annotations

import functools
import os
import re
import shutil
from pathlib import Path

from launchguard.errors import cannot_tell
from launchguard.process import run
from launchguard.uv import uv


def pyenv_folders() -> list[Path]:
    """List pyenv's interpreter folders, newest version first."""
    roots = [Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")]
    found = [path for root in roots for path in (root / "versions").glob("*/bin")]
    return sorted(found, key=lambda path: _numbers(path.parent.name), reverse=True)


def _numbers(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version))


@functools.cache
def find_python(version: str) -> str:
    """Give the path of a Python `version` (such as 3.10).

    Raises:
        LaunchguardError: there is none here and none can be downloaded (the lane cannot be told).
    """
    named = f"python{version}"
    candidates = [found for found in (shutil.which(named),) if found] + [
        str(folder / named) for folder in pyenv_folders() if (folder / named).is_file()
    ]
    for candidate in candidates:
        if run(candidate, "-c", "import ssl, sqlite3, venv", check=False).code == 0:
            return candidate
    found = uv("python", "find", version, check=False)
    if found.code == 0:
        return found.text.strip()
    installed = uv("python", "install", version, check=False)
    found = uv("python", "find", version, check=False)
    if found.code:
        reason = (installed.messages.strip().splitlines() or ["no reason given"])[-1]
        raise cannot_tell(f"no Python {version} on PATH, in pyenv or from uv ({reason}); install python{version}")
    return found.text.strip()
