"""What a person sees: colour and progress on a terminal, plain lines elsewhere, JSON when asked."""

from __future__ import annotations

import contextlib
import sys
import time
from typing import TYPE_CHECKING, Any

import msgspec
from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

# A pipe has no width: wide enough there that no table is folded.
OUT = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else 200)
# Progress and notes go to stderr, so that --json leaves stdout to the data.
ERR = Console(stderr=True, highlight=False, soft_wrap=True)


ALL = 100  # per cent
# What takes longer than this is worth a word.
LONG_SECONDS = 2.0


def say(text: str) -> None:
    """Tell a result, on stdout."""
    OUT.print(text, markup=False)


def note(text: str) -> None:
    """Tell what is going on, on stderr."""
    ERR.print(text, markup=False)


def warn(text: str) -> None:
    ERR.print(f"[yellow]warning:[/] {_escaped(text)}")


def _escaped(text: str) -> str:
    return text.replace("[", "\\[")


def show_json(value: object) -> None:
    """Write any dataclass, struct or plain value as indented JSON on stdout."""
    sys.stdout.buffer.write(msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n")
    sys.stdout.flush()


@contextlib.contextmanager
def working(what: str) -> Iterator[None]:
    """Show a spinner while something takes a while; elsewhere one line when it is done, if it took over 2 s."""
    started = time.monotonic()
    if ERR.is_terminal:
        with ERR.status(_escaped(what)):
            yield
        return
    yield
    took = time.monotonic() - started
    if took > LONG_SECONDS:
        note(f"{what}: {took:.0f} s")


@contextlib.contextmanager
def bytes_progress(total: int) -> Iterator[Callable[[int], Any]]:
    """Show how much of a download of `total` bytes has come; gives the function to tell it by."""
    if not ERR.is_terminal:
        note(f"downloading {total / 1e6:.1f} MB")
        yield lambda _count: None
        return
    columns = (TextColumn("downloading"), BarColumn(), DownloadColumn(), TimeElapsedColumn())
    with Progress(*columns, console=ERR, transient=True) as progress:
        task = progress.add_task("", total=total)
        yield lambda count: progress.advance(task, count)


@contextlib.contextmanager
def percent_progress(what: str) -> Iterator[Callable[[int], None]]:
    """Show how far a test run is; gives the function that takes the percentage."""
    if not ERR.is_terminal:
        yield _plain_percent(what)
        return
    columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
    with Progress(*columns, console=ERR, transient=True) as progress:
        task = progress.add_task(_escaped(what), total=ALL)
        yield lambda percent: progress.update(task, completed=percent)


def _plain_percent(what: str) -> Callable[[int], None]:
    """Say a line at each quarter, which is enough in a log."""
    said = 0

    def tell(percent: int) -> None:
        nonlocal said
        if percent // 25 > said and percent < ALL:
            said = percent // 25
            note(f"{what}: {percent} %")

    return tell
