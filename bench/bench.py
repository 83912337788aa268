"""Compare speeds in one run: `just bench`."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING

import rich_click as click
from bench import tool
from bench.ground import ground
from bench.million import QUEUED, ROWS
from bench.run_requests import run_requests
from bench.sync_pods import sync_pods
from rich.table import Table

from launchguard import console
from launchguard.errors import error_handler
from launchguard.project import find_project

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from bench.comparison import Comparison, Timing
    from bench.ground import Ground

_TOOL = {"trees": tool.trees, "venvs": tool.venvs}
_AIRFLOW: dict[str, Callable[[Ground, int | None], list[Comparison]]] = {
    "run": run_requests,
    "sync-0": functools.partial(sync_pods, 0.0),
    "sync-5": functools.partial(sync_pods, 0.005),
    "sync-20": functools.partial(sync_pods, 0.020),
}
_SECOND = 1.0


@click.command(context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--only", multiple=True, type=click.Choice([*_TOOL, *_AIRFLOW]), help="Leave the others out.")
@click.option("--rounds", type=click.IntRange(1), help="Turns of each side; each comparison has its own default.")
@click.option("--rows", default=ROWS, show_default=True, type=click.IntRange(QUEUED), help="In task_instance.")
@click.option("--json", "as_json", is_flag=True)
def main(only: tuple[str, ...], rounds: int | None, rows: int, as_json: bool) -> None:
    """Compare speeds on this machine; all of it takes some minutes.

    trees and venvs are the tool's own. The others are Airflow's, patched and released, on PostgreSQL: /run, and
    KubernetesExecutor's sync() with a Kubernetes API that takes 0, 5 or 20 ms to create a pod.
    """
    with error_handler(find_project().logs):
        chosen = only or (*_TOOL, *_AIRFLOW)
        show(measure(chosen, rounds, rows), as_json=as_json)


def measure(chosen: Sequence[str], rounds: int | None, rows: int) -> list[Comparison]:
    """Make the chosen comparisons."""
    done = [row for name, own in _TOOL.items() if name in chosen for row in own(rounds)]
    with contextlib.ExitStack() as stack:
        made: Callable[[], Ground] = functools.cache(lambda: stack.enter_context(ground(rows // QUEUED * QUEUED)))
        return done + [row for name, one in _AIRFLOW.items() if name in chosen for row in one(made(), rounds)]


def show(done: Sequence[Comparison], *, as_json: bool) -> None:
    if as_json:
        console.show_json(done)
        return
    columns = ("comparison", "side", "median", "fastest", "slowest", "n", "statements", "ratio (95 % of runs)", "goal")
    table = Table(*columns, box=None, pad_edge=False)
    for one in done:
        ratio = f"{one.ratio:.3f} ({one.lowest:.3f} to {one.highest:.3f})"
        table.add_row(one.name, *_cells(one.first), ratio, "" if one.goal is None else f"{one.goal:g}")
        table.add_row("", *_cells(one.second), "1", "")
    console.OUT.print(table)


def _cells(timing: Timing) -> tuple[str, ...]:
    times = (timing.median, timing.fastest, timing.slowest)
    return (timing.side, *map(duration, times), str(timing.measurements), statements(timing.statements))


def duration(seconds: float) -> str:
    """Give a time with three digits.

    >>> duration(1.234), duration(0.01234)
    ('1.23 s', '12.3 ms')
    """
    return f"{seconds:.3g} s" if seconds >= _SECOND else f"{seconds * 1000:.3g} ms"


def statements(counted: tuple[int, int] | None) -> str:
    """Give how many statements one measurement sent.

    >>> statements(None), statements((1, 1)), statements((1, 2))
    ('', '1', '1 to 2')
    """
    if counted is None:
        return ""
    fewest, most = counted
    return str(most) if fewest == most else f"{fewest} to {most}"


if __name__ == "__main__":
    main()
