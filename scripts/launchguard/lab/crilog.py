"""Container logs as a kubelet keeps them: one line an entry, `TIME stdout F text`, the format of the CRI.

An entry tagged `P` has no line end of its own: it goes on in the next one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from launchguard.lab.kube.objects import parse_stamp

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from datetime import datetime

LONGEST_LINE: Final = 16 * 1024
"""Longer lines are kept in parts, as containerd does."""


@dataclass(frozen=True, slots=True)
class Entry:
    """One line, or a part of one, that a container wrote."""

    time: str
    text: bytes
    partial: bool = False

    def encode(self) -> bytes:
        return b"%s stdout %s %s\n" % (self.time.encode(), b"P" if self.partial else b"F", self.text)

    def shown(self, *, timestamps: bool) -> bytes:
        start = f"{self.time} ".encode() if timestamps else b""
        return start + self.text + (b"" if self.partial else b"\n")


def decode_entry(line: bytes) -> Entry:
    """Read an entry back.

    Raises:
        ValueError: the line is no entry.
    """
    time, _stream, tag, text = line.rstrip(b"\n").split(b" ", 3)
    return Entry(time.decode(), text, partial=tag == b"P")


@dataclass(frozen=True, slots=True)
class Excerpt:
    """Which part of a log is wanted, and how it is shown."""

    since: datetime | None = None
    tail: int | None = None
    limit_bytes: int | None = None
    timestamps: bool = False

    def newer(self, entry: Entry) -> bool:
        return self.since is None or parse_stamp(entry.time) >= self.since

    def choose(self, entries: Iterable[Entry]) -> Sequence[Entry]:
        """Give the entries that the log has now and the excerpt wants."""
        chosen = [entry for entry in entries if self.newer(entry)]
        if self.tail is None:
            return chosen
        ends = [place for place, entry in enumerate(chosen) if not entry.partial]
        if chosen and chosen[-1].partial:
            ends.append(len(chosen) - 1)
        if self.tail >= len(ends):
            return chosen
        return chosen[ends[-self.tail - 1] + 1 :] if self.tail else []
