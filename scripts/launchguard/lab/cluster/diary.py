"""What user code in pods tells, which reaches the history by HTTP where there is no file in common."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from launchguard.lab.history import History, Kind

if TYPE_CHECKING:
    from pathlib import Path

PATH: Final = "/lab/history/"


class Line(msgspec.Struct, frozen=True):
    """What user code says of itself.

    Args:
        src: who says it: one process of one pod.
        seq: 1 for the begin, 2 for the end; a line that comes again is the same line.
    """

    src: str
    seq: int
    kind: Literal["user.begin", "user.end"]
    about: dict[str, Any]


class Diary:
    """Takes lines in the order in which they come, on the lab's clock.

    User code goes on only when its line is taken: it begins after the stamp of its begin, and ends before the other.

    Args:
        history: the file of the run's history.
        key: which only the lab's pods know, since they are not the only ones that reach the port.
    """

    def __init__(self, history: Path, key: str) -> None:
        self._path = history
        self._key = key
        self._taken: set[tuple[str, int]] = set()
        self._writers: dict[str, History] = {}

    def opens_with(self, path: str) -> bool:
        return secrets.compare_digest(path.encode(), f"{PATH}{self._key}".encode())

    def take(self, body: bytes) -> bool:
        """Write a line into the history; False for one that is none."""
        try:
            line = msgspec.json.decode(body, type=Line)
        except msgspec.DecodeError:
            return False
        if (line.src, line.seq) not in self._taken:
            self._taken.add((line.src, line.seq))
            self._append(line)
        return True

    def _append(self, line: Line) -> None:
        writer = self._writers.pop(line.src, None) or History(self._path, line.src)
        writer.record(line.kind, **line.about)
        if line.kind == Kind.USER_END.value:
            writer.close()
        else:
            self._writers[line.src] = writer

    def close(self) -> None:
        for writer in self._writers.values():
            writer.close()
