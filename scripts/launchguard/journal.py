"""Replaces several files of a folder as one step: all of them or none, whatever kills the process.

The new files are first written aside in `.refresh/`; the rename of its list of names to `commit` is the
moment the step counts. From there it only goes forward, in this process or in the next one.
"""

from __future__ import annotations

import contextlib
import shutil
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

FOLDER = ".refresh"


class Step(msgspec.Struct, frozen=True):
    """What a decided step still has to do, by file name."""

    moved: tuple[str, ...]
    removed: tuple[str, ...]


def write(folder: Path, files: Mapping[str, bytes | None]) -> None:
    """Write (or with None remove) files of `folder`, all or none.

    Args:
        folder: where.
        files: new content by file name; files that have it already are left alone.
    """
    recover(folder)
    aside = folder / FOLDER
    aside.mkdir()
    step = Step(
        moved=tuple(
            name for name, content in files.items() if content is not None and _differs(folder / name, content)
        ),
        removed=tuple(name for name, content in files.items() if content is None),
    )
    for name in step.moved:
        (aside / name).write_bytes(files[name] or b"")
    (aside / "step").write_bytes(msgspec.json.encode(step))
    (aside / "step").rename(aside / "commit")
    finish(folder)


def _differs(path: Path, content: bytes) -> bool:
    return not path.is_file() or path.read_bytes() != content


def recover(folder: Path) -> None:
    """Finish a step that was decided, or drop one that was not; only for who may write the folder now."""
    finish(folder)
    shutil.rmtree(folder / FOLDER, ignore_errors=True)


def finish(folder: Path) -> None:
    """Finish a step that was decided; any number of processes may do so at once."""
    aside = folder / FOLDER
    try:
        step = msgspec.json.decode((aside / "commit").read_bytes(), type=Step)
    except FileNotFoundError:
        return
    for name in step.moved:
        with contextlib.suppress(FileNotFoundError):  # an interrupted process has moved it already
            (aside / name).replace(folder / name)
    for name in step.removed:
        (folder / name).unlink(missing_ok=True)
    shutil.rmtree(aside, ignore_errors=True)
