"""Whole campaigns: named scenarios, random ones until the time is up, and the measurement."""

from __future__ import annotations

import itertools
import shutil
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

from launchguard import console
from launchguard.lab.campaign import play_all
from launchguard.lab.checker import read_evidence
from launchguard.lab.fuzz import random_scenario
from launchguard.lab.history import read_history
from launchguard.lab.installs import Ground, stages
from launchguard.lab.labreport import Entry, LabReport, save
from launchguard.lab.pressure import Counts, count, pressure_scenario

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from launchguard.lab.campaign import Stage
    from launchguard.lab.outcome import Side
    from launchguard.lab.scenario import Scenario

_SECONDS: Final = 60
# So many random scenarios share a deployment, at most: a fresh one now and then forgets what the last ones left.
_TOGETHER: Final = 8


def play_scenarios(ground: Ground, sides: Sequence[Side], scenarios: Sequence[Scenario]) -> LabReport:
    """Play scenarios on each side; the report has them in the order given."""
    names = [scenario.name for scenario in scenarios]
    return _campaign(ground, sides, lambda stage: play_all(stage, scenarios, ground.rules), order=names)


def play_random(
    ground: Ground, sides: Sequence[Side], seed: int, *, minutes: float, only: int | None = None
) -> LabReport:
    """Play random scenarios on each side until its time is up; at least one."""

    def play(stage: Stage) -> Iterator[Entry]:
        if only is not None:
            yield from play_all(stage, [random_scenario(seed, only)], ground.rules)
            return
        until = time.monotonic() + minutes * _SECONDS
        for first in itertools.count(0, _TOGETHER):
            scenarios = [random_scenario(seed, first + number) for number in range(_TOGETHER)]
            for entry in play_all(stage, scenarios, ground.rules):
                yield entry
                if time.monotonic() >= until:
                    return

    return _campaign(ground, sides, play, seed=f"{seed}{'' if only is None else f':{only}'}")


def measure(ground: Ground, sides: Sequence[Side], tasks: int) -> tuple[LabReport, dict[str, Counts]]:
    """Play the measurement on each side, and count."""
    scenario = pressure_scenario(tasks)
    report = play_scenarios(ground, sides, [scenario])
    played = (entry for entry in report.entries if entry.history)
    return report, {entry.side: count(read_evidence(list(read_history(Path(entry.history))))) for entry in played}


def _campaign(
    ground: Ground,
    sides: Sequence[Side],
    play: Callable[[Stage], Iterator[Entry]],
    *,
    order: Sequence[str] = (),
    seed: str = "",
) -> LabReport:
    """Collect what is played; Ctrl-C gives what there is by then."""
    entries: list[Entry] = []
    interrupted = False
    try:
        with stages(ground, sides) as made:
            # Not before: where no campaign can begin, the last one's report stays.
            shutil.rmtree(ground.folder, ignore_errors=True)
            for stage in made:
                for entry in play(stage):
                    entries.append(entry)
                    console.note(f"{entry.side} {entry.scenario}: {entry.outcome} ({entry.seconds:.0f} s)")
    except KeyboardInterrupt:
        interrupted = True
    if order:
        entries.sort(key=lambda entry: order.index(entry.scenario))
    report = LabReport(
        track=ground.tree.track.name,
        revision=ground.revision,
        series=ground.series,
        rules=tuple(sorted(ground.rules, key=lambda rule: (rule[0], int(rule[1:])))),
        versions=ground.versions(sides),
        entries=tuple(entries),
        seed=seed,
        interrupted=interrupted,
    )
    save(ground.folder, report)
    return report
