"""The base of a track from Airflow's own git: its tags, verified against the pin."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING

from launchguard import console
from launchguard.basetree import BASE_REF
from launchguard.errors import LaunchguardError
from launchguard.gitcmd import Git
from launchguard.track import CORE, PROVIDER, SDK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from launchguard.track import Part, Track

AIRFLOW_URL = "https://github.com/apache/airflow.git"
# The core tag's tree may hold other versions of these; their own tags say what was released.
LAID_OVER = (SDK, PROVIDER)
# The setting of a repository that says what its base was made from.
PIN = "launchguard.pin"


def import_git_base(git: Git, track: Track, *, url: str | None) -> str:
    """Bring the base commit of a track from Airflow's repository.

    A blobless fetch of the tags; the base is the core tag's commit with the folders of the task SDK and
    the provider laid over from their own tags where they differ.

    Args:
        git: the repository that takes it, under `refs/launchguard/base`.
        track: the pin.
        url: the repository; Airflow's own when None.

    Returns:
        The commit's full id.

    Raises:
        LaunchguardError: a tag is missing, or does not name the pinned commit.
    """
    git.run("config", "remote.origin.url", url or AIRFLOW_URL)
    git.run("config", "remote.origin.promisor", "true")
    git.run("config", "remote.origin.partialclonefilter", "blob:none")
    parts = _parts(track)
    _fetch_tags(git, parts, url or AIRFLOW_URL)
    commits = {part.name: _verified(git, part) for part in parts}
    base = _lay_over(git, track, commits)
    git.run("update-ref", BASE_REF, base)
    git.run("config", PIN, _pin(track))
    return base


def is_pinned(git: Git, track: Track) -> bool:
    """Tell whether the base in a repository was made from this pin."""
    return git.run("config", "--get", PIN, check=False).text.strip() == _pin(track)


def _pin(track: Track) -> str:
    return ", ".join(f"{part.tag} {part.commit}" for part in _parts(track))


def _parts(track: Track) -> list[Part]:
    return [track.part(name) for name in (CORE, *LAID_OVER)]


def _fetch_tags(git: Git, parts: Iterable[Part], url: str) -> None:
    tags = sorted({part.tag for part in parts})
    specs = [f"+refs/tags/{tag}:refs/tags/{tag}" for tag in tags]
    fetched = git.run("fetch", "--quiet", "--no-tags", "--filter=blob:none", "origin", *specs, check=False)
    if fetched.code:
        reason = (fetched.messages.strip().splitlines() or ["no reason given"])[-1]
        raise LaunchguardError(f"cannot fetch {', '.join(tags)} from {url}: {reason}; name another with --url")


def _verified(git: Git, part: Part) -> str:
    commit = git.resolve(f"refs/tags/{part.tag}")
    if commit is None:
        raise LaunchguardError(f"tag {part.tag} names no commit")
    if part.commit is None:
        console.note(f"tag {part.tag} is commit {commit}; track.toml pins none, so it was not compared")
    elif commit != part.commit:
        raise LaunchguardError(f"tag {part.tag} is commit {commit}, the pin says {part.commit}; was the tag moved?")
    return commit


def _lay_over(git: Git, track: Track, commits: dict[str, str]) -> str:
    base = commits[CORE]
    laid = [
        track.part(name)
        for name in LAID_OVER
        if _tree_id(git, base, track.part(name)) != _tree_id(git, commits[name], track.part(name))
    ]
    if not laid:
        return base
    with tempfile.TemporaryDirectory(prefix="launchguard-overlay-") as folder:
        scratch = Git(git.folder, index=Path(folder) / "index")
        scratch.run("read-tree", base)
        for part in laid:
            scratch.run("rm", "-r", "--quiet", "--cached", "--ignore-unmatch", "--", part.folder)
            scratch.run("read-tree", f"--prefix={part.folder}/", f"{commits[part.name]}:{part.folder}")
        tree = scratch.line("write-tree")
    message = "Lay over " + ", ".join(f"{part.folder} from tag {part.tag}" for part in laid)
    return git.line("commit-tree", tree, "-p", base, "-m", message)


def _tree_id(git: Git, commit: str, part: Part) -> str | None:
    return git.blob(commit, part.folder)


class Preimage(StrEnum):
    """How a file of the git base compares with the sdists' one."""

    EQUAL = "equal"
    DIFFERS = "differs"
    ONLY_SDIST = "only in the sdist"
    ONLY_GIT = "only in git"


@dataclass(frozen=True)
class Comparison:
    """One file that the series touches, in both kinds of source."""

    path: str
    outcome: Preimage


def compare_preimages(sdist: Git, checkout: Git, paths: Iterable[str]) -> list[Comparison]:
    """Compare the files at `paths` in the base commits of the two kinds of source."""
    return [
        Comparison(path, _compare(sdist.blob(BASE_REF, path), checkout.blob(BASE_REF, path)))
        for path in sorted(set(paths))
    ]


def _compare(sdist: str | None, checkout: str | None) -> Preimage:
    if sdist == checkout:
        return Preimage.EQUAL
    if sdist is None:
        return Preimage.ONLY_GIT
    return Preimage.ONLY_SDIST if checkout is None else Preimage.DIFFERS
