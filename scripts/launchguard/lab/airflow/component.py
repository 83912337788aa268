"""One process of Airflow, with all that it starts: begun, paused, killed, ended."""

from __future__ import annotations

import contextlib
import signal
import subprocess
import time
from enum import StrEnum
from typing import TYPE_CHECKING, Final

from launchguard.errors import LaunchguardError
from launchguard.lab.history import History, Kind
from launchguard.lab.sessions import signal_session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

_GRACE: Final = 10.0
_LOOK_AGAIN: Final = 0.01
_LAST_LINES: Final = 15


class Role(StrEnum):
    """What a process of Airflow does; the value is its command."""

    SCHEDULER = "scheduler"
    API_SERVER = "api-server"
    DAG_PROCESSOR = "dag-processor"
    TRIGGERER = "triggerer"


class Component:
    """A process that runs until it is told otherwise.

    Signals go to its whole session, since a scheduler's pod watcher and a server's workers are children of their own.

    Args:
        name: unique in its deployment.
        log: takes its output; appended to.
    """

    def __init__(
        self, name: str, command: Sequence[str], env: Mapping[str, str], *, log: Path, history: History
    ) -> None:
        self.name = name
        self.log = log
        self._command = list(command)
        self._env = dict(env)
        self._history = history
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, or start it again after its end."""
        self.log.parent.mkdir(parents=True, exist_ok=True)
        with self.log.open("ab") as sink:
            self._process = subprocess.Popen(
                self._command,
                env=self._env,
                stdin=subprocess.DEVNULL,
                stdout=sink,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._history.record(Kind.PROCESS_START, component=self.name, pid=self._process.pid)

    @property
    def pid(self) -> int | None:
        return self._process.pid if self._process is not None else None

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def check(self) -> None:
        """Make sure that it runs.

        Raises:
            LaunchguardError: it has ended; the message has the last lines of its log.
        """
        if not self.running:
            code = self._process.returncode if self._process is not None else "never started"
            lines = self.log.read_text(encoding="utf-8", errors="replace").splitlines()[-_LAST_LINES:]
            raise LaunchguardError(f"{self.name} has ended ({code}); its log {self.log} ends:\n" + "\n".join(lines))

    def pause(self) -> None:
        """Freeze it with all its children, as a machine that hangs would."""
        self._signal(signal.SIGSTOP)

    def resume(self) -> None:
        self._signal(signal.SIGCONT)

    def kill(self) -> None:
        """Take it away with all its children, as a pod that is lost."""
        self._signal(signal.SIGKILL)
        self._reap()

    def ask_to_end(self) -> None:
        """Begin its end, without waiting for it."""
        if self._process is not None and self.running:
            self.resume()
            self._history.record(Kind.PROCESS_SIGNAL, component=self.name, pid=self.pid, signal="SIGTERM")
            self._process.terminate()

    def stop(self) -> None:
        """Ask it to end, and kill what has not ended in time."""
        if self._process is None:
            return
        self.ask_to_end()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(_GRACE)
        if self.running:
            self._signal(signal.SIGKILL)
        self._reap()

    def _signal(self, number: signal.Signals) -> None:
        if self._process is not None:
            self._history.record(Kind.PROCESS_SIGNAL, component=self.name, pid=self.pid, signal=number.name)
            signal_session(self._process.pid, number)

    def _reap(self) -> None:
        """Wait for the end of the main process, and of its children, which the kernel does not tell us of."""
        if self._process is not None:
            code = self._process.wait(_GRACE)
            until = time.monotonic() + _GRACE
            while signal_session(self._process.pid, signal.SIGKILL) and time.monotonic() < until:
                time.sleep(_LOOK_AGAIN)
            self._history.record(Kind.PROCESS_EXIT, component=self.name, pid=self.pid, exit_code=code)
