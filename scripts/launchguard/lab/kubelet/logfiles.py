"""Where containers' logs are written, and can be read while they grow."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from launchguard.lab.broadcast import Broadcast
from launchguard.lab.crilog import LONGEST_LINE, Entry, decode_entry

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class LogFile:
    """The log of one run of one container."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.grown = Broadcast()
        self.complete = False
        self._file = path.open("ab", buffering=0)
        self._rest = b""

    def feed(self, data: bytes) -> None:
        """Take what the container wrote, in pieces of any size."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            self._write(self._cut(line), partial=False)
        self._rest = self._cut(self._rest)
        self.grown.ring()

    def _cut(self, text: bytes) -> bytes:
        """Write what of a text is too long for one entry, and give the rest."""
        while len(text) > LONGEST_LINE:
            head, text = text[:LONGEST_LINE], text[LONGEST_LINE:]
            self._write(head, partial=True)
        return text

    def finish(self) -> None:
        """Take note that the container is gone."""
        if not self.complete:
            if self._rest:
                self._write(self._rest, partial=True)
            self._file.close()
            self.complete = True
            self.grown.ring()

    def _write(self, text: bytes, *, partial: bool) -> None:
        now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%S.%f000Z")
        self._file.write(Entry(now, text, partial).encode())

    def entries(self, offset: int = 0) -> Iterator[tuple[Entry, int]]:
        """Give the entries from `offset`, each with the offset behind it."""
        with self.path.open("rb") as lines:
            lines.seek(offset)
            for line in lines:
                offset += len(line)
                yield decode_entry(line), offset


class LogShelf:
    """The log files of all containers, kept after their pods are gone.

    Args:
        folder: where they are, one folder a pod.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._runs: dict[tuple[str, str], list[LogFile]] = {}

    def open(self, pod: str, uid: str, container: str) -> LogFile:
        """Begin the log of the next run of a container; `pod` is namespace and name, for people."""
        runs = self._runs.setdefault((uid, container), [])
        runs.append(LogFile(self._folder / f"{pod}_{uid}" / container / f"{len(runs)}.log"))
        return runs[-1]

    def find(self, uid: str, container: str, *, previous: bool = False) -> LogFile | None:
        runs = self._runs.get((uid, container), [])
        place = 2 if previous else 1
        return runs[-place] if len(runs) >= place else None
