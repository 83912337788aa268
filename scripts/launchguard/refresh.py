"""The `refresh` command: writes the tree's commits back as patches, byte for byte."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from launchguard import journal
from launchguard.errors import LaunchguardError
from launchguard.headers import header_faults
from launchguard.patchfile import parse_patch
from launchguard.series import SLUG, cut_series, read_series, rewrite_series
from launchguard.treestate import TreeState, load_state, save_state, series_key

if TYPE_CHECKING:
    from launchguard.fetch import Tree
    from launchguard.gitcmd import Git
    from launchguard.project import Project

# Each of these keeps a difference between machines, git versions or settings out of the bytes.
FORMAT_OPTIONS = (
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


@dataclass(frozen=True)
class Refreshed:
    """What a refresh wrote; each tuple holds slugs."""

    track: str
    added: tuple[str, ...]
    changed: tuple[str, ...]
    removed: tuple[str, ...]
    kept: tuple[str, ...]


def refresh(project: Project, tree: Tree) -> Refreshed:
    """Export the tree's commits over the track's patches.

    Args:
        project: where the patches are.
        tree: where the commits are.

    Raises:
        LaunchguardError: uncommitted work, a half-done git operation, no commits at all over a full
            series, or a commit whose message breaks the header grammar.
    """
    folder = project.track_folder(tree.track.name)
    journal.recover(folder)
    with project.lock(tree.git.folder.name):
        _refuse_unfinished(tree)
        before = {slug: _read(folder / f"{slug}.patch") for slug in read_series(folder)}
        patches = export(tree.git, tree.base, "HEAD")
        _refuse_losing(tree, patches, before)
        patches |= _not_applied(tree, before, patches)
        series = folder / "series"
        text = series.read_text(encoding="utf-8") if series.is_file() else ""
        files: dict[str, bytes | None] = {f"{slug}.patch": content for slug, content in patches.items()}
        files |= {f"{slug}.patch": None for slug in before if slug not in patches}
        files["series"] = rewrite_series(text, list(patches)).encode()
        journal.write(folder, files)
        head = tree.git.line("rev-parse", "HEAD")
        state = load_state(tree.git)
        applied = cut_series(list(patches), state.until if state.until in patches else None)
        save_state(tree.git, TreeState(head=head, key=series_key(tree, folder, applied), until=state.until))
    return _summary(tree.track.name, before, patches)


def export(git: Git, base: str, head: str) -> dict[str, bytes]:
    """Give the patches of `base..head` by slug, in order.

    Raises:
        LaunchguardError: a merge, or a commit whose header breaks the grammar; all of them at once.
    """
    merges = git.line("rev-list", "--merges", f"{base}..{head}")
    if merges:
        raise LaunchguardError("the tree's history has a merge; rebase it into a line, then refresh")
    patches: dict[str, bytes] = {}
    faults: list[str] = []
    with tempfile.TemporaryDirectory(prefix="launchguard-export-") as scratch:
        git.run("format-patch", "--quiet", *FORMAT_OPTIONS, "-o", scratch, f"{base}..{head}")
        for path in sorted(Path(scratch).iterdir(), key=lambda path: int(path.name.partition("-")[0])):
            content = path.read_bytes()
            slug, found = _named(content, path.name)
            faults += found
            if slug in patches:
                faults.append(f"two commits carry Launchguard-Slug: {slug}; squash them or rename one")
            patches[slug] = content
    if faults:
        raise LaunchguardError(
            "commits that cannot be exported (git commit --amend, or rebase -i):\n  " + "\n  ".join(faults)
        )
    return patches


def _named(content: bytes, file: str) -> tuple[str, list[str]]:
    patch = parse_patch(file.removesuffix(".patch"), content)
    slug = patch.trailer("Launchguard-Slug") or ""
    if not SLUG.fullmatch(slug):
        return file, [
            f"{patch.subject!r}: no Launchguard-Slug trailer (git commit --amend --trailer 'Launchguard-Slug: my-slug')"
        ]
    return slug, list(header_faults(parse_patch(slug, content)))


def _refuse_unfinished(tree: Tree) -> None:
    operation = tree.git.open_operation()
    if operation is not None:
        raise LaunchguardError(
            f"a {operation} is half done in {tree.git.folder}; finish or abort it there, then refresh"
        )
    changes = tree.git.changes()
    if changes:
        raise LaunchguardError(
            f"{tree.git.folder} has {len(changes)} uncommitted changes ({changes[0].strip()} ...); "
            "commit them into the patch they belong to, then refresh"
        )


def _refuse_losing(tree: Tree, patches: dict[str, bytes], before: dict[str, bytes]) -> None:
    if before and not patches:
        raise LaunchguardError(
            f"{tree.git.folder} has no commits above its base, and refresh would delete all {len(before)} patches; "
            "run apply first"
        )
    if tree.git.run("merge-base", "--is-ancestor", tree.base, "HEAD", check=False).code:
        raise LaunchguardError(f"{tree.git.folder} does not stand on the track's base; rebase it onto {tree.base[:12]}")


def _not_applied(tree: Tree, before: dict[str, bytes], patches: dict[str, bytes]) -> dict[str, bytes]:
    """Give the patches behind the one that `apply --until` stopped at: they stay as they are."""
    until = load_state(tree.git).until
    if until is None or until not in before:
        return {}
    slugs = list(before)
    return {slug: before[slug] for slug in slugs[slugs.index(until) + 1 :] if slug not in patches}


def _read(path: Path) -> bytes:
    return path.read_bytes() if path.is_file() else b""


def _summary(track: str, before: dict[str, bytes], after: dict[str, bytes]) -> Refreshed:
    return Refreshed(
        track,
        added=tuple(slug for slug in after if slug not in before),
        changed=tuple(slug for slug in after if slug in before and after[slug] != before[slug]),
        removed=tuple(slug for slug in before if slug not in after),
        kept=tuple(slug for slug in after if after[slug] == before.get(slug)),
    )
