"""Commits as patch files: the same bytes whoever exports them, wherever."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from launchguard.errors import LaunchguardError
from launchguard.headers import cut_fault, header_faults
from launchguard.patchfile import parse_patch
from launchguard.series import SLUG

if TYPE_CHECKING:
    from launchguard.gitcmd import Git

# Each of these keeps a difference between machines, git versions or settings out of the bytes.
FORMAT_OPTIONS = (
    "--always",  # a commit without changes is told of instead of left out
    "--zero-commit",  # no commit id, which changes with every patch before it
    "--no-signature",  # no git version
    "--no-stat",
    "--full-index",  # abbreviations grow with the repository
    "--no-numbered",
    "--keep-subject",
    "--no-renames",
    "--binary",
    "--diff-algorithm=myers",
    "--no-encode-email-headers",
    "--no-attach",
    "--no-thread",
    "--no-signoff",
    "--no-base",
    "--no-cover-letter",
    "--no-from",
    "--no-to",
    "--no-cc",
    "--no-add-header",
    "--no-notes",
    "--no-indent-heuristic",
    "--no-ext-diff",
    "--no-textconv",
    "--src-prefix=a/",
    "--dst-prefix=b/",
    "--unified=3",
)


def export(git: Git, base: str, head: str) -> dict[str, bytes]:
    """Give the patches of `base..head` by slug, in order.

    Raises:
        LaunchguardError: a merge, an empty commit, or a header that breaks the grammar; all of them at once.
    """
    merges = git.line("rev-list", "--merges", f"{base}..{head}")
    if merges:
        raise LaunchguardError("the tree's history has a merge; rebase it into a line, then refresh")
    patches: dict[str, bytes] = {}
    faults: list[str] = []
    for content in _format_patches(git, base, head):
        slug, found = _named(content)
        faults += found
        if slug in patches:
            faults.append(f"two commits carry Launchguard-Slug: {slug}; squash them or rename one")
        patches[slug] = content
    if faults:
        raise LaunchguardError(
            "commits that cannot be exported (git commit --amend, or rebase -i):\n  " + "\n  ".join(faults)
        )
    return patches


def _format_patches(git: Git, base: str, head: str) -> list[bytes]:
    with tempfile.TemporaryDirectory(prefix="launchguard-export-") as scratch:
        git.run("format-patch", "--quiet", *FORMAT_OPTIONS, "-o", scratch, f"{base}..{head}")
        paths = sorted(Path(scratch).iterdir(), key=lambda path: int(path.name.partition("-")[0]))
        return [path.read_bytes() for path in paths]


def _named(content: bytes) -> tuple[str, list[str]]:
    """Give a patch's slug (its subject where it has none) and what is wrong with it."""
    if b"\ndiff --git " not in content:
        subject = content.partition(b"\nSubject: ")[2].partition(b"\n")[0].decode("utf-8", "replace")
        return subject, [f"{subject!r} changes nothing; drop that commit, or give it its change"]
    patch = parse_patch("commit", content)
    slug = patch.trailer("Launchguard-Slug") or ""
    if SLUG.fullmatch(slug):
        return slug, list(header_faults(parse_patch(slug, content)))
    missing = "no Launchguard-Slug trailer (git commit --amend --trailer 'Launchguard-Slug: my-slug')"
    return patch.subject, [f"{patch.subject!r}: {cut_fault(patch) or missing}"]
