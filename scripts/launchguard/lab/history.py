"""The one record of a run: append-only JSON lines on the machine's monotonic clock.

Each line has `t` (nanoseconds of CLOCK_MONOTONIC, the same for every process of the machine until it reboots), `src`
(the writer), `seq` (its count) and `kind`; the rest depends on the kind. Several processes may append to one file.
"""

from __future__ import annotations

import os
import threading
import time
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Self

import msgspec

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path
    from types import TracebackType


class Kind(StrEnum):
    """What a record tells. Later writers add theirs."""

    START = "start"
    """The writer began; pairs `t` with the wall clock."""
    REQUEST = "api.request"
    ANSWER = "api.answer"
    WATCH_EVENT = "api.watch-event"
    """A watch event was sent to one client."""
    OBJECT = "object"
    """An object was added, modified or deleted in the store."""
    PHASE = "pod.phase"
    CONTAINER = "container.state"
    PROCESS_START = "process.start"
    PROCESS_SIGNAL = "process.signal"
    PROCESS_EXIT = "process.exit"
    FAULT_ARMED = "fault.armed"
    FAULT_FIRED = "fault.fired"
    FAULT_REMOVED = "fault.removed"
    COMMAND = "command"
    BUG = "bug"
    """The stand-in itself failed: no verdict can stand on this run."""
    ROW = "ti.row"
    """A task instance's row changed, as the database's trigger saw it."""
    ROWS = "ti.rows-end"
    """All changes of a scenario's rows have been copied into the history."""
    EXECUTION_REQUEST = "execution.request"
    """A worker asked the execution API to start or end a task instance."""
    EXECUTION_ANSWER = "execution.answer"
    USER_BEGIN = "user.begin"
    """User code began, told by itself."""
    USER_END = "user.end"
    DEED = "lab.deed"
    """What the scenario did to Airflow: cleared, marked, killed, paused ..."""
    SCENARIO_BEGIN = "scenario.begin"
    SCENARIO_END = "scenario.end"


class History:
    """A writer of records. Safe to use from several threads.

    Args:
        path: the file, which is appended to.
        source: the writer's name, unique among the writers of the file.
        clock: the nanoseconds of a clock that is never stepped; only tests give another one.
    """

    def __init__(self, path: Path, source: str, clock: Callable[[], int] = time.monotonic_ns) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self._source = source
        self._clock = clock
        self._count = 0
        self._lock = threading.Lock()
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
        self.record(Kind.START, wall=datetime.now(UTC).isoformat(), pid=os.getpid())

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def record(self, kind: str, **fields: object) -> None:
        """Append one record; after `close` it is dropped."""
        self._append(None, kind, fields)

    def copy_record(self, t: int, kind: str, **fields: object) -> None:
        """Append what another clock stamped, once `t` has been moved to this one."""
        self._append(t, kind, fields)

    def _append(self, t: int | None, kind: str, fields: dict[str, object]) -> None:
        with self._lock:
            if self._file < 0:
                return
            self._count += 1
            at = self._clock() if t is None else t
            entry = {"t": at, "src": self._source, "seq": self._count, "kind": kind, **fields}
            # One write for one line: O_APPEND keeps the lines of several writers apart.
            os.write(self._file, msgspec.json.encode(entry) + b"\n")

    def close(self) -> None:
        with self._lock:
            if self._file >= 0:
                os.close(self._file)
                self._file = -1


def read_history(path: Path) -> Iterator[dict[str, Any]]:
    """Give all records in the order of the file; a last line that is cut short is left out.

    Lines of different writers may be a little out of order: sort by `t` before judging.
    """
    with path.open("rb") as lines:
        for line in lines:
            if line.endswith(b"\n"):
                yield msgspec.json.decode(line)
