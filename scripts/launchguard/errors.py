"""The one expected error, the exit codes, and the place where errors end."""

from __future__ import annotations

import contextlib
import platform
import re
import sys
import traceback
from enum import IntEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Exit(IntEnum):
    """What a run ends with, as documented in the README."""

    GOOD = 0
    PROBLEMS = 1
    CANNOT_TELL = 2
    UNEXPECTED = 3
    INTERRUPTED = 130


_PASSWORD = re.compile(r"(?<=://)[^/\s'\"]*@")


def hide_passwords(text: str) -> str:
    """Leave the user and password out of every URL in a text.

    >>> hide_passwords("GET https://me:secret@host/simple failed")
    'GET https://host/simple failed'
    """
    return _PASSWORD.sub("", text)


class LaunchguardError(Exception):
    """An expected error: one line that says what to do.

    Args:
        message: the line; further lines are details. Passwords in URLs are left out.
        code: what the process ends with.
    """

    def __init__(self, message: str, *, code: Exit = Exit.PROBLEMS) -> None:
        super().__init__(hide_passwords(message))
        self.code = code


def cannot_tell(message: str) -> LaunchguardError:
    """Make the error for a question that could not be answered, which is never a pass."""
    return LaunchguardError(message, code=Exit.CANNOT_TELL)


@contextlib.contextmanager
def error_handler(log_folder: Path) -> Iterator[None]:
    """Turn every way a command can fail into one line and an exit code.

    Args:
        log_folder: where the report of an unexpected error goes.
    """
    try:
        yield
    except LaunchguardError as error:
        print(f"error: {error}", file=sys.stderr)
        raise SystemExit(error.code) from None
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        raise SystemExit(Exit.INTERRUPTED) from None
    except Exception as error:  # noqa: BLE001  the last resort: nothing may end in a bare traceback
        log = _write_report(log_folder)
        text = hide_passwords(f"{type(error).__name__}: {error}")
        print(f"unexpected error: {text}\nthe report to send: {log}", file=sys.stderr)
        raise SystemExit(Exit.UNEXPECTED) from None


def _write_report(folder: Path) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    log = folder / "unexpected-error.log"
    text = (
        f"command: {' '.join(sys.argv)}\npython: {sys.version}\nplatform: {platform.platform()}\n\n"
        f"{traceback.format_exc()}"
    )
    log.write_text(hide_passwords(text), encoding="utf-8")
    return log
