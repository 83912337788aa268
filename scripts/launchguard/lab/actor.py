"""Does the single steps of a scenario to a running Airflow."""

from __future__ import annotations

import functools
import time
from typing import TYPE_CHECKING, Final

import msgspec

from launchguard.errors import LaunchguardError
from launchguard.lab.airflow.database import cut_connections
from launchguard.lab.airflow.rest import wait_until
from launchguard.lab.evidence import task_name
from launchguard.lab.history import Kind, read_history
from launchguard.lab.steps import (
    Act,
    Arm,
    AwaitCode,
    AwaitFault,
    AwaitPods,
    AwaitState,
    Clear,
    ClearQueued,
    ClearUntilMoved,
    CutDatabase,
    Disarm,
    Do,
    Mark,
    Sleep,
    Step,
    Trigger,
)

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from launchguard.lab.airflow.component import Component
    from launchguard.lab.airflow.deployment import Deployment
    from launchguard.lab.faults import Rule

_OWNER: Final = "owner-of:"


class Actor:
    """Acts on one run of one Dag.

    Args:
        deployment: where.
        dag: whose run it is.
        run_id: of the run.
        restarts: start a component again that ended by itself, as a control plane in pods would.
    """

    def __init__(self, deployment: Deployment, dag: str, run_id: str, *, restarts: bool = False) -> None:
        self._on = deployment
        self._dag = dag
        self._run_id = run_id
        self._restarts = restarts
        self._last = ""
        self.down: set[str] = set()
        """The components that are not to run now."""

    def do(self, step: Step) -> None:
        faults, rows = self._on.cluster.faults, self._on.rows
        match step:
            case Arm(fault=rule):
                armed = self._named(rule)
                self._on.cluster.call(lambda: faults.arm(armed))
            case Disarm(fault=name):
                self._on.cluster.call(lambda: faults.disarm(name))
            case AwaitFault(fault=name, times=times, within=within):
                self.await_(f"fault {name}", lambda: self._fired(name) >= times, within)
            case AwaitState(task=task, state=state, times=times, within=within):
                self.await_(f"{task} {state}", lambda: rows.count(self._run_id, task, state) >= times, within)
            case AwaitPods(phase=phase, count=count, within=within):
                self.await_(f"{count} pods {phase}", lambda: self.pods().count(phase) >= count, within)
            case AwaitCode(times=times, within=within):
                self.await_("user code", lambda: self._code_begun() >= times, within)
            case Do(command=command):
                self._on.cluster.execute(command)
            case Sleep(seconds=seconds):
                time.sleep(seconds)
            case CutDatabase():
                cut_connections(self._on.rows.url)
            case _:
                self._touch(step)

    def _touch(self, step: Step) -> None:
        """Do what a user, or fate, does to Airflow."""
        match step:
            case Trigger():
                self._on.rest.trigger(self._dag, self._run_id)
            case Clear(task=task, only_queued=only_queued):
                if not only_queued or self._on.rows.queued(self._run_id, task):
                    self._clear(task)
            case ClearQueued(task=task, at_most=at_most):
                for index in self._on.rows.queued(self._run_id, task)[:at_most]:
                    self._clear(task, index)
            case ClearUntilMoved(task=task, at_most=at_most):
                self._clear_until_moved(task, at_most)
            case Mark(task=task, state=state, only_queued=only_queued):
                if not only_queued or self._on.rows.queued(self._run_id, task):
                    self._mark(task, state)
            case Act(act=act, component=name):
                self._act(act, self._component(name))

    def _clear(self, task: str, map_index: int = -1) -> None:
        self._deed("clear", task_name(task, map_index))
        which = [task] if map_index < 0 else [[task, map_index]]
        asked = {"dry_run": False, "dag_run_id": self._run_id, "task_ids": which, "only_failed": False}
        self._on.rest.post(f"/dags/{self._dag}/clearTaskInstances", {**asked, "reset_dag_runs": True})

    def _mark(self, task: str, state: str) -> None:
        self._deed("mark", task)
        path = f"/dags/{self._dag}/dagRuns/{self._run_id}/taskInstances/{task}"
        self._on.rest.patch(path, {"new_state": state})

    def _clear_until_moved(self, task: str, at_most: int) -> None:
        first = self._on.rows.last_queued_by(self._run_id, task)
        for _ in range(at_most):
            before = self._on.rows.count(self._run_id, task, "queued")
            self._clear(task)
            self.do(AwaitState(task=task, state="queued", times=before + 1))
            if self._on.rows.last_queued_by(self._run_id, task) != first:
                return
        raise LaunchguardError(f"{first} queued {task} every time, {at_most} times over")

    def _act(self, act: str, component: Component) -> None:
        self._deed(act, component.name)
        self._last = component.name
        if act in {"kill", "pause"}:
            self.down.add(component.name)
        else:
            self.down.discard(component.name)
        getattr(component, act)()

    def _component(self, name: str) -> Component:
        name = self._last if name == "last" else self._owner(name)
        if name not in self._on.components:
            raise LaunchguardError(f"there is no component {name!r}; there are: {', '.join(self._on.components)}")
        return self._on.components[name]

    def _owner(self, name: str) -> str:
        task = name.removeprefix(_OWNER)
        return self._on.rows.last_queued_by(self._run_id, task) if task != name else name

    def _named(self, rule: Rule) -> Rule:
        match = msgspec.structs.replace(rule.match, user=self._owner(rule.match.user))
        return msgspec.structs.replace(rule, match=match)

    def heal(self) -> None:
        """Take away all faults, and have every component run, the cluster too."""
        faults = self._on.cluster.faults
        for tally in self._on.cluster.call(faults.tallies):
            self._on.cluster.call(functools.partial(faults.disarm, tally.rule.id))
        self._on.cluster.heal()
        for name in sorted(self.down):
            component = self._on.components[name]
            self._act("resume" if component.running else "start", component)

    def pods(self) -> Sequence[str]:
        """Give the phases of the pods that there are."""
        return self._on.cluster.phases()

    def _fired(self, name: str) -> int:
        tallies = self._on.cluster.call(self._on.cluster.faults.tallies)
        return next((tally.fired for tally in tallies if tally.rule.id == name), 0)

    def _code_begun(self) -> int:
        records = read_history(self._on.site.history)
        return sum(one["kind"] == Kind.USER_BEGIN and one["run_id"] == self._run_id for one in records)

    def await_(self, what: str, done: Callable[[], bool], within: float) -> None:
        wait_until(what, done, within=within, check=self.check)

    def check(self) -> None:
        """Make sure that every component runs that is to.

        Raises:
            LaunchguardError: one has ended by itself, and is not to be started again.
        """
        for name, component in self._on.components.items():
            if name in self.down:
                continue
            if self._restarts and not component.running:
                self._deed("restart", name)
                component.start()
            component.check()

    def _deed(self, what: str, target: str) -> None:
        self._on.history.record(Kind.DEED, what=what, target=target)
