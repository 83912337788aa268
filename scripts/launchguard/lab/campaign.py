"""Plays scenarios on released and on patched Airflow, one deployment after the other."""

from __future__ import annotations

import contextlib
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from launchguard import console
from launchguard.errors import LaunchguardError
from launchguard.lab.airflow.deployment import Blueprint, Deployment, deployed, migrated
from launchguard.lab.checker import Judgement, Verdict, judge
from launchguard.lab.cluster.limits import why_not
from launchguard.lab.labreport import Entry
from launchguard.lab.outcome import Side, outcome_of
from launchguard.lab.player import Player

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from launchguard.lab.cluster.choice import Place
    from launchguard.lab.evidence import Record
    from launchguard.lab.scenario import Scenario

# Airflow's own pauses are made for clusters, not for a machine where somebody waits.
_BRISK: Final = {
    "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.5",
    "AIRFLOW__SCHEDULER__JOB_HEARTBEAT_SEC": "2",
    "AIRFLOW__TRIGGERER__JOB_HEARTBEAT_SEC": "2",
    "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "300",
}
_SCHEDULERS: Final = ("scheduler-a", "scheduler-b")


@dataclass(frozen=True, slots=True)
class Stage:
    """One side, ready to be deployed.

    Args:
        venv: the installation.
        folder: for everything that its runs write.
        server: URL of a PostgreSQL server's maintenance database.
        template: the name of a migrated database.
        place: the real cluster to play on; None for the stand-in.
    """

    side: Side
    venv: Path
    folder: Path
    server: str
    template: str
    place: Place | None = None


@contextlib.contextmanager
def staged(side: Side, venv: Path, folder: Path, server: str, place: Place | None = None) -> Iterator[Stage]:
    """Migrate a database for a side, and drop it at the end."""
    folder.mkdir(parents=True)
    with migrated(folder, venv, server) as template:
        yield Stage(side, venv, folder, server, template, place)


def play_all(stage: Stage, scenarios: Sequence[Scenario], rules: frozenset[str]) -> Iterator[Entry]:
    """Play scenarios on one side; those that need the same settings share a deployment while it stays in order."""
    groups: dict[tuple[object, ...], list[Scenario]] = {}
    for scenario in scenarios:
        if stage.place is not None and (why := why_not(scenario)):
            yield _unplayed(stage, scenario, rules, why)
            continue
        groups.setdefault(scenario.site, []).append(scenario)
    for number, left in enumerate(groups.values()):
        while left:
            yield from _play_some(stage, left, rules, f"{number}-{len(left)}")


def _play_some(stage: Stage, left: list[Scenario], rules: frozenset[str], name: str) -> Iterator[Entry]:
    """Play on one deployment until all are played or it is out of order; takes from `left` what was tried."""
    try:
        with deployment_for(stage, left[0], name) as deployment:
            while left:
                scenario = left.pop(0)
                player = Player(deployment, scenario)
                started = time.monotonic()
                with console.working(f"{stage.side}: {scenario.name}"):
                    records = player.play()
                yield _entry(stage, scenario, rules, records, time.monotonic() - started)
                if not player.at_rest:
                    return
    except LaunchguardError as error:
        # Nothing came up: what cannot be played cannot be told.
        for scenario in left:
            yield _unplayed(stage, scenario, rules, str(error))
        left.clear()


@contextlib.contextmanager
def deployment_for(stage: Stage, scenario: Scenario, name: str) -> Iterator[Deployment]:
    """Deploy what a scenario needs."""
    folder = stage.folder / f"deployment-{name}"
    folder.mkdir(parents=True, exist_ok=True)
    blueprint = Blueprint(
        stage.venv,
        schedulers=_SCHEDULERS[: scenario.schedulers],
        triggerer=scenario.triggerer,
        settings={**_BRISK, **scenario.settings()},
        place=stage.place,
    )
    with deployed(folder, blueprint, server=stage.server, template=stage.template) as deployment:
        yield deployment


def missing_rules(scenario: Scenario, rules: frozenset[str]) -> tuple[str, ...]:
    return tuple(sorted(set(scenario.needs) - rules, key=lambda rule: int(rule[1:])))


def _entry(stage: Stage, scenario: Scenario, rules: frozenset[str], records: Sequence[Record], seconds: float) -> Entry:
    path = stage.folder / f"{scenario.name}.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(record) + b"\n" for record in records))
    # The workloads in it carry tokens.
    path.chmod(0o600)
    judgement = judge(records, scenario.excuses)
    entry = _made(stage, scenario, rules, judgement)
    return msgspec.structs.replace(entry, seconds=round(seconds, 1), history=str(path))


def _unplayed(stage: Stage, scenario: Scenario, rules: frozenset[str], why: str) -> Entry:
    return _made(stage, scenario, rules, Judgement(Verdict.CANNOT_TELL, doubts=(why,)))


def _made(stage: Stage, scenario: Scenario, rules: frozenset[str], judgement: Judgement) -> Entry:
    missing = missing_rules(scenario, rules) if stage.side is Side.PATCHED else ()
    return Entry(
        scenario=scenario.name,
        title=scenario.title,
        report=scenario.report,
        side=stage.side,
        outcome=outcome_of(scenario, stage.side, judgement, missing),
        judgement=judgement,
        missing=missing,
    )
