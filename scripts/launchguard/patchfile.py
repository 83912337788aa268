"""One patch file: its header, its trailers, and what it touches."""

from __future__ import annotations

import re
from dataclasses import dataclass
from email import policy
from email.parser import BytesHeaderParser
from typing import TYPE_CHECKING

from launchguard.errors import LaunchguardError

if TYPE_CHECKING:
    from pathlib import Path

_TRAILER = re.compile(r"^([A-Za-z][A-Za-z0-9-]*): (.*)$")
# The first line of the diff ends the message; git am, or git apply, cuts at these too, wherever they stand.
_DIFF_START = re.compile(rb"^(?:diff --git |---(?:\s|$)|diff -|Index: |@@ -\d|From .*\d:\d\d:\d\d \d{4})", re.MULTILINE)


@dataclass(frozen=True)
class PatchFile:
    """A patch as text: who, what and the diff.

    Args:
        slug: its name in the series.
        subject: the first line of its commit message, decoded.
        message: the message below the subject.
        diff: everything from the first diff line on.
    """

    slug: str
    author: str
    date: str
    subject: str
    message: str
    diff: bytes

    @property
    def trailers(self) -> list[tuple[str, str]]:
        """The key and value pairs of the message's last paragraph, in order."""
        last = self.message.strip().split("\n\n")[-1]
        found = [_TRAILER.match(line) for line in last.splitlines()]
        return [(match[1], match[2].strip()) for match in found if match]

    def trailer(self, key: str) -> str | None:
        return next((value for name, value in self.trailers if name == key), None)


def parse_patch(slug: str, content: bytes) -> PatchFile:
    """Read a patch as `git format-patch` writes it.

    Raises:
        LaunchguardError: it has no header or no diff.
    """
    head, _, rest = content.partition(b"\n\n")
    start = _DIFF_START.search(rest)
    if not head.startswith(b"From ") or start is None:
        raise LaunchguardError(f"{slug}.patch is not a patch as git format-patch writes it; write it with refresh")
    fields = BytesHeaderParser(policy=policy.default).parsebytes(head.partition(b"\n")[2] + b"\n\n")
    return PatchFile(
        slug=slug,
        author=str(fields.get("From", "")),
        date=str(fields.get("Date", "")),
        subject=str(fields.get("Subject", "")),
        message=rest[: start.start()].decode("utf-8", "replace"),
        diff=rest[start.start() :],
    )


def read_patch(folder: Path, slug: str) -> PatchFile:
    """Read `<slug>.patch` in a track's folder; see `parse_patch`."""
    return parse_patch(slug, patch_bytes(folder, slug))


def patch_bytes(folder: Path, slug: str) -> bytes:
    """Give the content of `<slug>.patch` in a track's folder.

    Raises:
        LaunchguardError: there is no such file.
    """
    path = folder / f"{slug}.patch"
    if not path.is_file():
        raise LaunchguardError(f"the series names {slug}, but there is no {path.name} in {folder}")
    return path.read_bytes()
