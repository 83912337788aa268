"""The table of mixed versions: what the runs must show, and what the docs tell operators."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

FILE: Final = Path(__file__).with_name("combinations.csv")
_AS_CODE: Final = ("/run", "not_found", "invalid_state", "stale_executor_launch")


@dataclass(frozen=True, slots=True)
class Ending:
    """How the worker of a superseded launch ends.

    Args:
        told: the answers to its `/run`, one after the other.
        exits: its exit code.
    """

    told: str
    exits: int


@dataclass(frozen=True, slots=True)
class Combination:
    """Who runs what, and how a launch ends whose task was cleared, or marked success, while its pod waited."""

    scheduler: str
    api_server: str
    worker: str
    cleared: Ending
    marked: Ending

    @property
    def name(self) -> str:
        """Name it so that it can be a run id, and a folder.

        >>> Combination("patched", "released", "task SDK 1.2", Ending("", 0), Ending("", 0)).name
        'patched-released-task_SDK_1.2'
        """
        return f"{self.scheduler}-{self.api_server}-{self.worker}".replace(" ", "_")


def read_combinations() -> list[Combination]:
    """Read all combinations, those that can share a scheduler and an API server next to each other."""
    read = [_combination(row) for row in _rows()[1:]]
    order = list(dict.fromkeys((one.scheduler, one.api_server) for one in read))
    return sorted(read, key=lambda one: order.index((one.scheduler, one.api_server)))


def _combination(row: Sequence[str]) -> Combination:
    scheduler, api_server, worker, *endings = row
    cleared, marked = (Ending(told, int(exits)) for told, exits in (endings[:2], endings[2:]))
    return Combination(scheduler, api_server, worker, cleared, marked)


def _rows() -> list[list[str]]:
    with FILE.open(encoding="utf-8", newline="") as lines:
        return list(csv.reader(lines))


def as_markdown() -> str:
    """Give the table as it stands in the docs."""
    heading, *rows = _rows()
    return "".join(_line(cells) for cells in (heading, ["---"] * len(heading), *rows))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |\n"


def _cell(text: str) -> str:
    for word in _AS_CODE:
        text = text.replace(word, f"`{word}`")
    return text
