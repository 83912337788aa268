"""The one way to run another program."""

from __future__ import annotations

import contextlib
import os
import shlex
import signal
import subprocess
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from launchguard.errors import LaunchguardError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

GRACE_SECONDS = 10.0


@dataclass(frozen=True)
class Completed:
    """How a program ended."""

    command: tuple[str, ...]
    code: int
    out: bytes
    err: bytes

    @property
    def text(self) -> str:
        return self.out.decode("utf-8", "replace")

    @property
    def messages(self) -> str:
        return self.err.decode("utf-8", "replace")


class CommandError(LaunchguardError):
    """A program failed that should not have."""

    def __init__(self, completed: Completed) -> None:
        super().__init__(
            f"command failed with code {completed.code}: {shlex.join(completed.command)}"
            + _indented("stdout", completed.text)
            + _indented("stderr", completed.messages)
        )
        self.completed = completed


def _indented(title: str, text: str) -> str:
    if not text.strip():
        return ""
    return f"\n  {title}:\n" + "\n".join(f"    {line}" for line in text.rstrip().splitlines())


def run(
    *command: str | os.PathLike[str],
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    stdin: bytes | None = None,
    check: bool = True,
) -> Completed:
    """Run a short program to its end and keep what it wrote.

    Args:
        command: the program and its arguments.
        cwd: where it runs.
        env: its whole environment; the caller's own when None.
        stdin: what it reads; nothing when None.
        check: raise when it fails.

    Raises:
        CommandError: it failed and `check` is set.
        LaunchguardError: there is no such program.
    """
    words = tuple(os.fspath(word) for word in command)
    try:
        ended = subprocess.run(words, cwd=cwd, env=env, capture_output=True, check=False, input=stdin or b"")
    except FileNotFoundError as error:
        raise _not_found(words[0], cwd) from error
    completed = Completed(words, ended.returncode, ended.stdout, ended.stderr)
    if check and ended.returncode:
        raise CommandError(completed)
    return completed


def _not_found(program: str, cwd: Path | None) -> LaunchguardError:
    if cwd is not None and not cwd.is_dir():
        return LaunchguardError(f"there is no folder {cwd}")
    return LaunchguardError(f"there is no program {program!r} here; install it or put it on PATH")


def run_logged(
    command: Sequence[str | os.PathLike[str]],
    *,
    log: Path,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    watch: Callable[[], None] | None = None,
) -> int:
    """Run a long program in a session of its own, both its streams in `log`.

    Whatever interrupts the wait (Ctrl-C first of all) stops the program and all its children, which
    keeps a test run from leaving workers behind.

    Args:
        command: the program and its arguments.
        log: the file that takes its output, made anew.
        cwd: where it runs.
        env: its whole environment.
        watch: called every fifth of a second while it runs.

    Returns:
        Its exit code.
    """
    words = [os.fspath(word) for word in command]
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("wb") as sink:
        sink.write(f"$ {shlex.join(words)}\n".encode())
        sink.flush()
        with _session(words, cwd=cwd, env=env, sink=sink.fileno()) as process:
            while process.poll() is None:
                if watch is not None:
                    watch()
                time.sleep(0.2)
            return process.returncode


@contextlib.contextmanager
def _session(
    words: list[str], *, cwd: Path | None, env: Mapping[str, str] | None, sink: int
) -> Iterator[subprocess.Popen[bytes]]:
    try:
        process = subprocess.Popen(
            words, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True
        )
    except FileNotFoundError as error:
        raise _not_found(words[0], cwd) from error
    try:
        yield process
    finally:
        if process.poll() is None:
            _stop(process)


def _stop(process: subprocess.Popen[bytes]) -> None:
    try:
        for sign in (signal.SIGINT, signal.SIGTERM):
            _signal_group(process, sign)
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(GRACE_SECONDS)
                break
    finally:  # also when a second Ctrl-C ends the patience; and for children that outlived their parent
        _signal_group(process, signal.SIGKILL)
        process.wait()


def _signal_group(process: subprocess.Popen[bytes], sign: signal.Signals) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):  # all gone, or (macOS) all but the zombie
        os.killpg(process.pid, sign)
