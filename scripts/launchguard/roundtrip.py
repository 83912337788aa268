"""Whether import and export return every byte of a series."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from launchguard.apply import commit_series
from launchguard.errors import LaunchguardError
from launchguard.export import export

if TYPE_CHECKING:
    from collections.abc import Mapping

    from launchguard.fetch import Tree


def round_trip_faults(tree: Tree, patches: Mapping[str, bytes]) -> list[str]:
    """Import patches on the tree's base, export them, and tell what came back changed, a line for each patch.

    Args:
        tree: the tree; its lock is held by the caller.
        patches: the whole series from its start, by slug, in order.
    """
    with tempfile.TemporaryDirectory(prefix="launchguard-roundtrip-") as scratch:
        folder = Path(scratch)
        for slug, content in patches.items():
            (folder / f"{slug}.patch").write_bytes(content)
        try:
            returned = export(tree.git, tree.base, commit_series(tree, folder, list(patches)))
        except LaunchguardError as error:
            return [str(error)]
    return [
        f"{slug}.patch: {first_difference(content, returned.get(slug, b''))}"
        for slug, content in patches.items()
        if returned.get(slug) != content
    ]


def first_difference(before: bytes, after: bytes) -> str:
    """Tell the first line in which two different contents differ."""
    old, new = before.splitlines(keepends=True), after.splitlines(keepends=True)
    pairs = zip([*old, b""], [*new, b""], strict=False)
    number, (was, now) = next((n, pair) for n, pair in enumerate(pairs, 1) if pair[0] != pair[1])
    return f"line {number} is {_shown(was)}, an export gives {_shown(now)}"


def _shown(line: bytes) -> str:
    return repr(line.decode("utf-8", "backslashreplace")) if line else "missing"
