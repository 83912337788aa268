"""Tries a series on a base without touching any work tree, and says how each file of each patch goes."""

from __future__ import annotations

import re
import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from launchguard.errors import LaunchguardError
from launchguard.gitcmd import Git
from launchguard.patchfile import parse_patch

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from launchguard.process import Completed

_OFFSET = re.compile(r"Hunk #\d+ succeeded at \d+ \(offset (-?\d+) lines?\)")


class Outcome(StrEnum):
    """How one patch goes on one file."""

    CLEAN = "clean"
    OFFSET = "offset"
    CONFLICT = "conflict"
    MISSING_FILE = "missing file"
    ALREADY_APPLIED = "already applied"
    CORRUPT = "corrupt"

    @property
    def applies(self) -> bool:
        return self in {Outcome.CLEAN, Outcome.OFFSET}


@dataclass(frozen=True)
class FileTrial:
    """One patch on one file; `follows` is the slug of an earlier patch that failed on the same file."""

    path: str
    outcome: Outcome
    detail: str = ""
    follows: str | None = None


@dataclass(frozen=True)
class PatchTrial:
    """One patch on all its files."""

    slug: str
    files: tuple[FileTrial, ...]

    @property
    def applies(self) -> bool:
        return all(file.outcome.applies for file in self.files)


def try_series(git: Git, base: str, folder: Path, slugs: Sequence[str]) -> list[PatchTrial]:
    """Try every patch in order on `base`, going on past failures.

    A patch that fails on one file is still applied to its others, so that one report names everything
    that needs work. What fails only because an earlier patch failed on the same file says so.

    Args:
        git: a repository that holds `base`.
        base: a commit.
        folder: the track's folder with the patch files.
        slugs: the patches to try, in order.
    """
    failed: dict[str, str] = {}
    trials = []
    with tempfile.TemporaryDirectory(prefix="launchguard-trial-") as scratch:
        index = Git(git.folder, index=Path(scratch) / "index")
        index.run("read-tree", base)
        for slug in slugs:
            trial = _try_patch(index, folder / f"{slug}.patch", slug, failed)
            failed |= {file.path: slug for file in trial.files if not file.outcome.applies}
            trials.append(trial)
    return trials


def touched_paths(git: Git, patch: Path) -> list[str] | None:
    """List the files that a patch touches; None when git cannot read it."""
    stats = git.run("apply", "--numstat", "-z", patch, check=False)
    if stats.code or not stats.out:
        return None
    records = stats.text.split("\0")
    return [record.split("\t", 2)[2] for record in records if "\t" in record]


def _try_patch(index: Git, patch: Path, slug: str, failed: dict[str, str]) -> PatchTrial:
    paths = touched_paths(index, patch)
    fault = _corruption(index, patch) if paths is None else _header_fault(slug, patch)
    if paths is None or fault:
        return PatchTrial(slug, (FileTrial("", Outcome.CORRUPT, fault),))
    whole = index.run("apply", "--cached", "-v", patch, check=False)
    if whole.code == 0:
        offsets = _offsets(whole, paths)
        return PatchTrial(slug, tuple(_applied(path, offsets) for path in paths))
    return PatchTrial(slug, tuple(_try_file(index, patch, path, failed) for path in paths))


def _try_file(index: Git, patch: Path, path: str, failed: dict[str, str]) -> FileTrial:
    only = f"--include={_literal(path)}"
    tried = index.run("apply", "--cached", "-v", only, patch, check=False)
    if tried.code == 0:
        return _applied(path, _offsets(tried, [path]))
    reverse = index.run("apply", "--cached", "--check", "-R", only, patch, check=False)
    outcome = Outcome.ALREADY_APPLIED if reverse.code == 0 else _reason(tried.messages)
    return FileTrial(path, outcome, _first_error(tried.messages), failed.get(path))


def _applied(path: str, offsets: dict[str, str]) -> FileTrial:
    return FileTrial(path, Outcome.OFFSET, offsets[path]) if path in offsets else FileTrial(path, Outcome.CLEAN)


def _offsets(completed: Completed, paths: Sequence[str]) -> dict[str, str]:
    """Map each file with moved hunks to a text that names the offsets in lines; git goes through `paths` in order."""
    found: dict[str, list[str]] = {}
    path, rest = "", iter(paths)
    for line in completed.messages.splitlines():
        path = next(rest, path) if line.startswith("Checking patch ") else path
        moved = _OFFSET.search(line)
        if moved:
            found.setdefault(path, []).append(f"{int(moved[1]):+d}")
    return {name: f"hunks moved by {', '.join(by)} lines" for name, by in found.items()}


def _reason(messages: str) -> Outcome:
    if "does not exist in index" in messages or "No such file" in messages:
        return Outcome.MISSING_FILE
    if "corrupt patch" in messages or "fragment without header" in messages:
        return Outcome.CORRUPT
    return Outcome.CONFLICT


def _first_error(messages: str) -> str:
    errors = (line.removeprefix("error: ") for line in messages.splitlines() if line.startswith("error: "))
    return next((error for error in errors if error != "while searching for:"), "")  # the lines it looked for follow


def _header_fault(slug: str, patch: Path) -> str:
    try:
        parse_patch(slug, patch.read_bytes())
    except LaunchguardError as error:
        return str(error)
    return ""


def _corruption(index: Git, patch: Path) -> str:
    return _first_error(index.run("apply", "--numstat", patch, check=False).messages) or "no diff in it"


def _literal(path: str) -> str:
    """Keep git from reading a pattern in a file's name."""
    return re.sub(r"([*?\[\\])", r"\\\1", path)


def failures(trials: Iterable[PatchTrial]) -> list[PatchTrial]:
    return [trial for trial in trials if not trial.applies]


def failure_lines(trials: Iterable[PatchTrial]) -> list[str]:
    """Tell every failing file of every failing patch, a line each."""
    lines = []
    for trial in failures(trials):
        for file in trial.files:
            if not file.outcome.applies:
                follows = f"; {file.follows} failed on it before" if file.follows else ""
                lines.append(f"{trial.slug}: {file.path or 'the patch'}: {file.outcome} ({file.detail}{follows})")
    return lines
