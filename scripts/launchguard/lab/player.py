"""Plays a scenario on a running Airflow, and hands over the slice of the history that it left."""

from __future__ import annotations

import contextlib
import time
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from launchguard.errors import LaunchguardError
from launchguard.lab.actor import Actor
from launchguard.lab.evidence import ENDS
from launchguard.lab.history import Kind, read_history

if TYPE_CHECKING:
    from collections.abc import Callable

    from launchguard.lab.airflow.deployment import Deployment
    from launchguard.lab.evidence import Record
    from launchguard.lab.scenario import Scenario

# Longer than the executor takes to see a pod's end and to act on it.
_AFTERMATH: Final = 3.0


class StuckError(LaunchguardError):
    """Airflow did not come to rest in time: for the invariants to judge, no fault of the lab's."""


class Player:
    """Plays one scenario.

    Args:
        deployment: with nothing else going on in it.
    """

    def __init__(self, deployment: Deployment, scenario: Scenario) -> None:
        self._on = deployment
        self._scenario = scenario
        self._run_id = scenario.name
        self._actor = Actor(deployment, scenario.dag, scenario.name, restarts=scenario.restarts)

    def play(self) -> list[Record]:
        """Play it, bring everything back in order, and give the scenario's records.

        A trouble on the way is in the records too, and leaves the checker without a verdict.
        """
        history = self._on.history
        self._on.rows.begin()
        wall = datetime.now(UTC).isoformat()
        history.record(Kind.SCENARIO_BEGIN, run_id=self._run_id, wall=wall, must_strike=self._scenario.must_strike)
        troubles = [_trouble_of(work) for work in (self._act_out, self._tidy_up, self._copy_rows)]
        trouble = next(filter(None, troubles), "")
        history.record(Kind.SCENARIO_END, run_id=self._run_id, trouble=trouble)
        return self._slice()

    @property
    def at_rest(self) -> bool:
        """Whether another scenario can be played on this deployment."""
        return self._no_pods() and not self._actor.down and all(one.running for one in self._on.components.values())

    def _act_out(self) -> None:
        for step in self._scenario.steps:
            self._actor.do(step)
        self._actor.heal()
        with contextlib.suppress(StuckError):
            self._settle()

    def _tidy_up(self) -> None:
        self._actor.heal()
        with contextlib.suppress(LaunchguardError):
            self._actor.await_("the end of all pods", self._no_pods, self._scenario.settle)

    def _copy_rows(self) -> None:
        self._on.rows.copy(self._run_id, self._on.history)

    def _settle(self) -> None:
        """Wait until nothing goes on any more.

        Raises:
            StuckError: it took too long.
        """
        try:
            self._actor.await_("the end of all task instances", self._at_their_end, self._scenario.settle)
            self._actor.await_("the end of all pods", self._no_pods, self._scenario.settle)
        except LaunchguardError as error:
            self._actor.check()
            raise StuckError(str(error)) from error
        time.sleep(_AFTERMATH)

    def _at_their_end(self) -> bool:
        states = self._on.rows.states(self._run_id)
        return bool(states) and all(state in ENDS for state in states)

    def _no_pods(self) -> bool:
        return not {"Pending", "Running"} & set(self._actor.pods())

    def _slice(self) -> list[Record]:
        """Give what was recorded since the scenario began."""
        records = list(read_history(self._on.site.history))
        begin = max(n for n, one in enumerate(records) if one["kind"] == Kind.SCENARIO_BEGIN)
        began = records[begin]["t"]
        return [one for one in records if one["t"] >= began]


def _trouble_of(work: Callable[[], None]) -> str:
    """Do it, and give what went wrong: the history must be closed whatever happened."""
    try:
        work()
    except Exception as error:  # noqa: BLE001  see above; the checker gives no verdict then
        return str(error) or type(error).__name__
    return ""
