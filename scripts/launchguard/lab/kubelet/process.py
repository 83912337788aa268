"""A container's process: its own session, its output in a log, its end with nothing left behind."""

from __future__ import annotations

import asyncio
import os
import signal
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from launchguard.lab.history import History, Kind
from launchguard.lab.sessions import signal_session

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from launchguard.lab.kubelet.logfiles import LogFile

_SIGNALLED: Final = 128
_CHUNK: Final = 64 * 1024
# A process that left the session can hold the log's pipe open for ever.
_PATIENCE: Final = 2.0
_LOOK_AGAIN: Final = 0.005


@dataclass(frozen=True, slots=True)
class Command:
    """What to run."""

    arguments: Sequence[str]
    env: Mapping[str, str]
    workdir: str


class StartError(Exception):
    """The program could not be executed at all."""


class _Output:
    """Carries what comes through a pipe into a log."""

    def __init__(self, log: LogFile) -> None:
        self._log = log
        self._read, self.write = os.pipe()
        os.set_blocking(self._read, False)
        self.ended = asyncio.Event()
        asyncio.get_running_loop().add_reader(self._read, self._take)

    def _take(self) -> None:
        try:
            data = os.read(self._read, _CHUNK)
        except BlockingIOError:
            return
        if data:
            self._log.feed(data)
        else:
            self.close()

    def close(self) -> None:
        if not self.ended.is_set():
            asyncio.get_running_loop().remove_reader(self._read)
            os.close(self._read)
            self._log.finish()
            self.ended.set()


class ContainerProcess:
    """A running container. Made by `start_process`."""

    def __init__(
        self, process: asyncio.subprocess.Process, output: _Output, history: History, about: Mapping[str, str]
    ) -> None:
        self._process = process
        self._output = output
        self._history = history
        self._about = dict(about)
        self.pid = process.pid

    async def wait(self) -> int:
        """Wait for the end, clear up what the main process left, and give the exit code as a container has it."""
        code = await self._process.wait()
        await self._clear_session()
        try:
            async with asyncio.timeout(_PATIENCE):
                await self._output.ended.wait()
        except TimeoutError:
            self._output.close()
        exit_code = code if code >= 0 else _SIGNALLED - code
        self._history.record(Kind.PROCESS_EXIT, pid=self.pid, exit_code=exit_code, **self._about)
        return exit_code

    def terminate(self) -> None:
        """Ask the main process to end: like a container runtime, no other."""
        self._signal(signal.SIGTERM)

    def kill(self) -> None:
        self._signal(signal.SIGKILL)
        self._kill_session()

    def _signal(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            self._history.record(Kind.PROCESS_SIGNAL, pid=self.pid, signal=number.name, **self._about)
            self._process.send_signal(number)

    async def _clear_session(self) -> None:
        """Kill all that is left of the session: nothing in a container outlives its main process."""
        until = time.monotonic() + _PATIENCE
        while self._kill_session() and time.monotonic() < until:  # noqa: ASYNC110  there is no event to wait for
            # The kernel tells nobody when a process that is not our child is gone.
            await asyncio.sleep(_LOOK_AGAIN)

    def _kill_session(self) -> bool:
        # The main process has had its own signal, which the history tells.
        return bool(set(signal_session(self.pid, signal.SIGKILL)) - {self.pid})


async def start_process(command: Command, log: LogFile, history: History, about: Mapping[str, str]) -> ContainerProcess:
    """Start a container's main process.

    Args:
        about: who it is, for the history.

    Raises:
        StartError: there is no such program, or it is none.
    """
    output = _Output(log)
    try:
        process = await asyncio.create_subprocess_exec(
            *command.arguments,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=output.write,
            stderr=output.write,
            env=dict(command.env),
            cwd=command.workdir,
            start_new_session=True,
        )
    except (OSError, ValueError) as error:
        output.close()
        raise StartError(str(error)) from error
    finally:
        os.close(output.write)
    history.record(Kind.PROCESS_START, pid=process.pid, **about)
    return ContainerProcess(process, output, history, about)
