"""The order of a track's patches: one slug a line, `#` comments."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from launchguard import journal
from launchguard.errors import LaunchguardError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

SLUG = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*")


def parse_series(text: str) -> list[str]:
    r"""Give the slugs in order.

    >>> parse_series("# why\nfirst-one\n\nsecond  # note\n")
    ['first-one', 'second']
    """
    bare = (line.partition("#")[0].strip() for line in text.splitlines())
    return [line for line in bare if line]


def read_series(folder: Path) -> list[str]:
    """Read the series file of a track's folder, after any interrupted refresh; a missing file is an empty series."""
    journal.finish(folder)
    path = folder / "series"
    return parse_series(path.read_text(encoding="utf-8")) if path.is_file() else []


def cut_series(slugs: Sequence[str], until: str | None) -> list[str]:
    """Give the series up to and with the patch `until`.

    Raises:
        LaunchguardError: the series has no such patch.
    """
    if until is None:
        return list(slugs)
    if until not in slugs:
        raise LaunchguardError(f"the series has no patch {until!r}; it has: {', '.join(slugs) or 'none'}")
    return list(slugs[: slugs.index(until) + 1])


def rewrite_series(text: str, slugs: Sequence[str]) -> str:
    r"""Give the series text for a new order; a comment stays above the slug it stood above.

    >>> rewrite_series("# a\none\n# b\ntwo\n", ["two", "new", "one"])
    '# b\ntwo\nnew\n# a\none\n'
    """
    if parse_series(text) == list(slugs):
        return text
    blocks: dict[str, list[str]] = {}
    waiting: list[str] = []
    for line in text.splitlines():
        waiting.append(line)
        named = parse_series(line)
        if named:
            blocks[named[0]], waiting = waiting, []
    lines = [line for slug in slugs for line in blocks.get(slug, [slug])]
    return "".join(f"{line}\n" for line in [*lines, *waiting])


def series_faults(folder: Path) -> list[str]:
    """Tell everything that is wrong between the series file and the patch files, all at once."""
    slugs = read_series(folder)
    files = {path.stem for path in folder.glob("*.patch")}
    faults = [
        f"series: {slug!r} is no slug (lower-case words joined by hyphens)"
        for slug in slugs
        if not SLUG.fullmatch(slug)
    ]
    faults += [
        f"series: {slug} is listed {slugs.count(slug)} times" for slug in sorted(set(slugs)) if slugs.count(slug) > 1
    ]
    faults += [f"series: {slug} is listed, but {slug}.patch is missing" for slug in slugs if slug not in files]
    faults += [f"{slug}.patch is not listed in series" for slug in sorted(files - set(slugs))]
    return faults
