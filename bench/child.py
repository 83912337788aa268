"""A program that is asked for one measurement after the other."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from typing import IO, TYPE_CHECKING, TypeVar

import msgspec

from launchguard.errors import LaunchguardError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping
    from pathlib import Path

_T = TypeVar("_T")
_PATIENCE = 20.0


class Child:
    """A running program that takes and gives lines of JSON."""

    def __init__(self, process: subprocess.Popen[bytes], log: Path) -> None:
        self._process = process
        self._log = log

    def hear(self, kind: type[_T]) -> _T:
        """Give what it says next.

        Raises:
            LaunchguardError: it ended instead; the message has the end of its log.
        """
        line = _open(self._process.stdout).readline()
        if not line:
            last = self._log.read_text(encoding="utf-8", errors="replace").splitlines()[-15:]
            raise LaunchguardError("\n  ".join([f"a measuring program ended early; the end of {self._log}:", *last]))
        return msgspec.json.decode(line, type=kind)

    def ask(self, kind: type[_T], **request: object) -> _T:
        """Send a request, and give the answer; see `hear`."""
        requests = _open(self._process.stdin)
        with contextlib.suppress(BrokenPipeError):  # then `hear` tells why
            requests.write(msgspec.json.encode(request) + b"\n")
            requests.flush()
        return self.hear(kind)


def _open(stream: IO[bytes] | None) -> IO[bytes]:
    if stream is None:
        raise LaunchguardError("the program was started without pipes")
    return stream


@contextlib.contextmanager
def child(
    *words: str | os.PathLike[str], log: Path, cwd: Path, env: Mapping[str, str] | None = None
) -> Iterator[Child]:
    """Run a program beside this one; it ends when its stdin does, and its children with it."""
    with log.open("wb") as sink:
        process = subprocess.Popen(
            words, cwd=cwd, env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=sink, start_new_session=True
        )
    try:
        yield Child(process, log)
        with contextlib.suppress(subprocess.TimeoutExpired, BrokenPipeError):
            process.communicate(timeout=_PATIENCE)
    finally:  # at once after an error or Ctrl-C
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)
        process.communicate()
