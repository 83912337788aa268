"""Git in a sealed environment, so that the same input gives the same bytes for everybody.

The settings that changed the bytes of a patch, or stopped an import, in measurements and in other
projects' histories: diff.noprefix, diff.context, format.*, i18n.logOutputEncoding, commit.gpgsign,
core.hooksPath, am.threeWay, core.autocrlf. None of the user's reach git here.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from launchguard.errors import LaunchguardError
from launchguard.process import CommandError, Completed, run

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

IDENTITY = "launchguard"
EMAIL = "authors@launchguard.invalid"
WHEN = "2026-01-01T00:00:00+00:00"

# What a program needs from outside: where it is, where temporary files go, how to reach a network.
KEPT_VARIABLES = (
    "PATH", "HOME", "TMPDIR", "SSH_AUTH_SOCK", "GIT_SSH", "GIT_SSH_COMMAND", "GIT_ASKPASS",
    "GIT_SSL_CAINFO", "SSL_CERT_FILE", "SSL_CERT_DIR", "TERM",
    "http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "ALL_PROXY",
)  # fmt: skip

SEALED = {
    "GIT_CONFIG_GLOBAL": os.devnull,
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_ATTR_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": IDENTITY,
    "GIT_AUTHOR_EMAIL": EMAIL,
    "GIT_AUTHOR_DATE": WHEN,
    "GIT_COMMITTER_NAME": IDENTITY,
    "GIT_COMMITTER_EMAIL": EMAIL,
    "GIT_COMMITTER_DATE": WHEN,
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_EDITOR": "true",
    "GIT_SEQUENCE_EDITOR": "true",
    "GIT_PAGER": "cat",
    "LC_ALL": "C",
    "TZ": "UTC",
}

# Repository settings win over -c of none, so each one that matters is set on the command line.
OVERRIDES = tuple(
    word
    for setting in (
        "core.hooksPath=/dev/null",
        "core.autocrlf=false",
        "core.eol=lf",
        "core.safecrlf=false",
        "core.fsmonitor=false",
        "core.quotePath=true",
        "core.attributesFile=/dev/null",
        "core.excludesFile=/dev/null",
        "commit.gpgsign=false",
        "commit.cleanup=whitespace",
        "am.threeWay=false",
        "apply.whitespace=nowarn",
        "apply.ignoreWhitespace=no",
        "i18n.logOutputEncoding=UTF-8",
        "i18n.commitEncoding=UTF-8",
        "diff.noprefix=false",
        "diff.mnemonicPrefix=false",
        "diff.context=3",
        "diff.interHunkContext=0",
        "diff.suppressBlankEmpty=false",
        "diff.orderFile=/dev/null",
        "format.filenameMaxLength=64",
        "merge.conflictStyle=merge",
        "rebase.autoStash=false",
        "gc.auto=0",
        "advice.detachedHead=false",
    )
    for word in ("-c", setting)
)


def sealed_environment(**more: str) -> dict[str, str]:
    """Give an environment with nothing of the user's in it that could change a result."""
    kept = {name: os.environ[name] for name in KEPT_VARIABLES if name in os.environ}
    return kept | SEALED | more


@dataclass(frozen=True)
class Git:
    """One repository, seen through sealed git commands.

    Args:
        folder: its work tree, or itself when bare.
        index: an index file of one's own instead of the work tree's.
        borrowed: another repository, whose objects can be read here as well.
    """

    folder: Path
    index: Path | None = None
    borrowed: Path | None = None

    def run(
        self,
        *words: str | os.PathLike[str],
        stdin: bytes | None = None,
        check: bool = True,
        env: dict[str, str] | None = None,
    ) -> Completed:
        """Run one git command here; see `process.run`. An error shows it without the sealing settings."""
        variables = sealed_environment(**(env or {}))
        if self.index is not None:
            variables["GIT_INDEX_FILE"] = os.fspath(self.index)
        if self.borrowed is not None:
            variables["GIT_ALTERNATE_OBJECT_DIRECTORIES"] = os.fspath(self.borrowed / ".git" / "objects")
        ended = run("git", *OVERRIDES, *words, cwd=self.folder, env=variables, stdin=stdin, check=False)
        if check and ended.code:
            plain = ("git", "-C", os.fspath(self.folder), *(os.fspath(word) for word in words))
            raise CommandError(replace(ended, command=plain))
        return ended

    def line(self, *words: str | os.PathLike[str]) -> str:
        """Run a command that answers with one line."""
        return self.run(*words).text.strip()

    def resolve(self, name: str) -> str | None:
        """Give the full commit id that `name` means, or None."""
        found = self.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}", check=False)
        return found.text.strip() or None

    def blob(self, revision: str, path: str) -> str | None:
        """Give the id of the file at `path` in `revision`, or None where there is none."""
        found = self.run("rev-parse", "--verify", "--quiet", "--end-of-options", f"{revision}:{path}", check=False)
        return found.text.strip() or None

    @property
    def git_folder(self) -> Path:
        return self.folder / self.line("rev-parse", "--git-dir")

    def changes(self) -> list[str]:
        """List what the work tree has that its commit has not, as `git status` short lines."""
        return self.run("status", "--porcelain", "--untracked-files=all").text.splitlines()

    def open_operation(self) -> str | None:
        """Name the half-done git operation in this work tree, if there is one."""
        folder = self.git_folder
        marks = {
            "rebase-apply": "git am or rebase",
            "rebase-merge": "rebase",
            "MERGE_HEAD": "merge",
            "CHERRY_PICK_HEAD": "cherry-pick",
            "REVERT_HEAD": "revert",
        }
        return next((name for mark, name in marks.items() if (folder / mark).exists()), None)


def init_repository(folder: Path) -> Git:
    """Make an empty repository whose own settings and excludes suit a tree of tests."""
    folder.mkdir(parents=True, exist_ok=True)
    git = Git(folder)
    git.run("init", "--quiet", "--template=", "--initial-branch=base", ".")
    exclude(git, ("__pycache__/", "*.pyc", ".pytest_cache/", ".ruff_cache/", ".mypy_cache/", "*.egg-info/"))
    return git


def exclude(git: Git, patterns: Iterable[str]) -> None:
    """Keep files that tests and tools leave behind out of `git status`."""
    info = git.git_folder / "info"
    info.mkdir(exist_ok=True)
    (info / "exclude").write_text("".join(f"{pattern}\n" for pattern in patterns), encoding="utf-8")


def require_git() -> None:
    """Refuse a git that lacks what is used here.

    Raises:
        LaunchguardError: git is missing or older than 2.30.
    """
    words = run("git", "--version").text.split()
    numbers = tuple(int(part) for part in words[2].split(".")[:2])
    if numbers < (2, 30):
        raise LaunchguardError(f"git {words[2]} is too old; install 2.30 or newer")
