"""Processes by their session, which is how a pod or a scheduler is found with all its children."""

from __future__ import annotations

import contextlib
import os
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    import signal


def session_members(session: int) -> list[int]:
    """Give the processes of a session, without those that are dead and only wait to be reaped."""
    return [pid for pid in psutil.pids() if _session_of(pid) == session and _alive(pid)]


def signal_session(session: int, number: signal.Signals) -> list[int]:
    """Send a signal to all processes of a session; gives those that were there to get it."""
    members = session_members(session)
    for pid in members:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, number)
    return members


def _session_of(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def _alive(pid: int) -> bool:
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
