"""Scenarios: one story each, as a small TOML file."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from launchguard.errors import LaunchguardError
from launchguard.lab.invariants import NAMES
from launchguard.lab.steps import Arm, AwaitFault, Disarm, Step

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

FOLDER: Final = Path(__file__).parent / "scenarios"
_RULE: Final = re.compile(r"R([1-9]|1[0-9])")


class Scenario(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A story that is played on released and on patched Airflow.

    Args:
        name: of the file; also the run id.
        title: one line.
        report: the upstream report that it stands for, as `apache/airflow#69760`.
        dag: which of the lab's Dags runs.
        needs: the rules of the launch protocol without which it cannot hold.
        released_breaks: invariants of which the released run must break at least one; none: it must hold.
        released_may_break: it may also hold there: nothing is asked of the released run.
        must_strike: ids of faults without which the run shows nothing.
        excuses: invariants whose findings the scenario brings about itself, and why.
        airflow: settings, as `scheduler.task_queued_timeout`. Scenarios with the same ones share a deployment.
        restarts: a component that ends by itself is started again, as Kubernetes would; else nothing can be told.
        many: how many task instances the Dag `many` has.
        short: part of the short set.
        settle: seconds that all task instances and pods have to come to their end.
    """

    name: str = ""
    title: str
    report: str = ""
    dag: str
    steps: tuple[Step, ...]
    needs: tuple[str, ...] = ()
    released_breaks: tuple[str, ...] = ()
    released_may_break: bool = False
    must_strike: tuple[str, ...] = ()
    excuses: dict[str, str] = {}
    airflow: dict[str, str] = {}
    triggerer: bool = False
    schedulers: int = 2
    restarts: bool = False
    many: int = 0
    short: bool = False
    settle: float = 120.0

    @property
    def site(self) -> tuple[object, ...]:
        """What a deployment must have to play it."""
        return (self.triggerer, self.schedulers, self.many, tuple(sorted(self.airflow.items())))

    def settings(self) -> dict[str, str]:
        """Give its settings as variables of Airflow's processes.

        >>> Scenario(title="", dag="", steps=(), airflow={"scheduler.x": "1"}).settings()
        {'AIRFLOW__SCHEDULER__X': '1'}
        """
        named = {f"AIRFLOW__{name.replace('.', '__').upper()}": value for name, value in self.airflow.items()}
        return {**named, "LAUNCHGUARD_LAB_MANY": str(self.many)} if self.many else named


def load_scenario(path: Path) -> Scenario:
    """Read one scenario.

    Raises:
        LaunchguardError: a field is wrong; the message has the file and the field's path.
    """
    try:
        scenario = msgspec.toml.decode(path.read_bytes(), type=Scenario)
    except (msgspec.DecodeError, OSError) as error:
        raise LaunchguardError(f"{path}: {error}") from error
    scenario = msgspec.structs.replace(scenario, name=path.stem)
    faults = list(_faults(scenario))
    if faults:
        raise LaunchguardError(f"{path}: {'; '.join(faults)}")
    return scenario


def _faults(scenario: Scenario) -> Iterator[str]:
    unknown = (set(scenario.released_breaks) | set(scenario.excuses)) - NAMES
    yield from (f"there is no invariant {name!r}" for name in sorted(unknown))
    yield from (f"{rule!r} is no rule of the protocol" for rule in scenario.needs if not _RULE.fullmatch(rule))
    armed = {step.fault.id for step in scenario.steps if isinstance(step, Arm)}
    named = {step.fault for step in scenario.steps if isinstance(step, Disarm | AwaitFault)}
    yield from (f"no step arms {name!r}" for name in sorted((named | set(scenario.must_strike)) - armed))


def load_scenarios(folder: Path = FOLDER) -> list[Scenario]:
    """Read all scenarios, in the order of their names."""
    return [load_scenario(path) for path in sorted(folder.glob("*.toml"))]


def choose(scenarios: Sequence[Scenario], names: Sequence[str], *, short: bool) -> list[Scenario]:
    """Give the named scenarios, or the short set, or all.

    Raises:
        LaunchguardError: there is none of a name.
    """
    known = {scenario.name: scenario for scenario in scenarios}
    unknown = sorted(set(names) - set(known))
    if unknown:
        raise LaunchguardError(f"there is no scenario {unknown[0]!r}; there are: {', '.join(known)}")
    if names:
        return [known[name] for name in dict.fromkeys(names)]
    return [scenario for scenario in scenarios if scenario.short or not short]
