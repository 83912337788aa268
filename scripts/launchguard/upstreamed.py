"""Tells whether a patch went upstream, and by what evidence; decides nothing."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from launchguard.trial import touched_paths

if TYPE_CHECKING:
    from launchguard.gitcmd import Git
    from launchguard.patchfile import PatchFile


class Evidence(StrEnum):
    """Why a patch is held to be upstream already; a subject is only a hint, the others are proof."""

    REVERSE_APPLIES = "the new base already holds its whole change"
    PATCH_ID = "a commit between the bases makes the same change"
    NOTHING_LEFT = "a three-way merge leaves nothing of it to do"
    SUBJECT = "a commit between the bases has its subject"


@dataclass(frozen=True)
class Upstreamed:
    """One piece of evidence; `commit` names what was found, where that is a commit."""

    evidence: Evidence
    commit: str | None = None


def find_upstreamed(git: Git, patch: PatchFile, path: Path, *, old: str | None, new: str) -> list[Upstreamed]:
    """Look for a patch in a newer base.

    Args:
        git: a repository that holds `new`, and the history `old..new` where there is one.
        patch: the patch, read.
        path: its file.
        old: the base it was made for, when `git` has it as an ancestor's side of `new`.
        new: the new base.
    """
    found = [Upstreamed(Evidence.REVERSE_APPLIES)] if _reverse_applies(git, path, new) else []
    if old is None:
        return found
    paths = touched_paths(git, path) or []
    commits = git.line("--literal-pathspecs", "rev-list", "--no-merges", f"{old}..{new}", "--", *paths).split()
    return found + _same_patch_id(git, path, commits) + _same_subject(git, patch, commits)


def _reverse_applies(git: Git, path: Path, new: str) -> bool:
    with tempfile.TemporaryDirectory(prefix="launchguard-reverse-") as scratch:
        index = replace(git, index=Path(scratch) / "index")
        index.run("read-tree", new)
        return index.run("apply", "--cached", "--check", "-R", path, check=False).code == 0


def _same_patch_id(git: Git, path: Path, commits: list[str]) -> list[Upstreamed]:
    if not commits:
        return []
    own = git.run("patch-id", "--stable", stdin=path.read_bytes()).text.split()[:1]
    log = git.run("diff-tree", "--stdin", "-p", "--no-renames", stdin="".join(f"{c}\n" for c in commits).encode()).out
    pairs = (line.split() for line in git.run("patch-id", "--stable", stdin=log).text.splitlines())
    return [Upstreamed(Evidence.PATCH_ID, commit) for patch_id, commit in pairs if [patch_id] == own]


def _same_subject(git: Git, patch: PatchFile, commits: list[str]) -> list[Upstreamed]:
    if not commits:
        return []
    log = git.run("log", "--no-walk", "--format=%H %s", "--stdin", stdin="".join(f"{c}\n" for c in commits).encode())
    pairs = (line.partition(" ") for line in log.text.splitlines())
    # upstream's merge button adds the pull request's number in parentheses
    return [
        Upstreamed(Evidence.SUBJECT, commit) for commit, _, subject in pairs if _bare(subject) == _bare(patch.subject)
    ]


def _bare(subject: str) -> str:
    return subject.rpartition(" (#")[0] if subject.endswith(")") and " (#" in subject else subject
