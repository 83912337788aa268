"""The report of a campaign as data, written to and read from `build/lab/`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec

from launchguard.errors import Exit, LaunchguardError
from launchguard.lab.checker import Judgement
from launchguard.lab.outcome import Outcome, Side, exit_code

if TYPE_CHECKING:
    from pathlib import Path

RESULTS: Final = "results.json"


class Entry(msgspec.Struct, frozen=True, kw_only=True):
    """One scenario played on one side.

    Args:
        missing: the rules that it needs and the series has no patch for.
        history: the file with its records; empty when it was not played.
    """

    scenario: str
    title: str
    report: str
    side: Side
    outcome: Outcome
    judgement: Judgement
    missing: tuple[str, ...] = ()
    seconds: float = 0.0
    history: str = ""


class LabReport(msgspec.Struct, frozen=True, kw_only=True):
    """A campaign.

    Args:
        revision: of the patched tree; with the seed it replays a randomised campaign.
        rules: those that the series has patches for.
        versions: of each side, to be shown.
    """

    track: str
    revision: str
    series: tuple[str, ...]
    rules: tuple[str, ...]
    versions: dict[str, str]
    entries: tuple[Entry, ...]
    seed: str = ""
    interrupted: bool = False

    @property
    def code(self) -> Exit:
        return Exit.INTERRUPTED if self.interrupted else exit_code(entry.outcome for entry in self.entries)

    def sides(self) -> list[Side]:
        return [side for side in Side if side in self.versions]

    def scenarios(self) -> list[str]:
        return list(dict.fromkeys(entry.scenario for entry in self.entries))

    def entry(self, scenario: str, side: Side) -> Entry | None:
        return next((one for one in self.entries if (one.scenario, one.side) == (scenario, side)), None)

    def sometimes(self) -> dict[str, int]:
        """Count how often each kind of fault, command and deed really happened, over all runs."""
        total: dict[str, int] = {}
        for entry in self.entries:
            for action, times in entry.judgement.fired.items():
                total[action] = total.get(action, 0) + times
        return dict(sorted(total.items()))


def save(folder: Path, report: LabReport) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / RESULTS).write_bytes(msgspec.json.format(msgspec.json.encode(report), indent=1))


def load(folder: Path) -> LabReport:
    """Read the last campaign's report.

    Raises:
        LaunchguardError: there is none, or another version wrote it.
    """
    path = folder / RESULTS
    if not path.is_file():
        raise LaunchguardError("there is no lab report yet; make one with `launchguard lab run`")
    try:
        return msgspec.json.decode(path.read_bytes(), type=LabReport)
    except msgspec.DecodeError as error:
        raise LaunchguardError(f"{path}: {error}; make a new one with `launchguard lab run`") from error
