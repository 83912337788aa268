"""The Dags of the lab's scenarios; the user code of each tells the history when it runs."""  # noqa: INP001  Airflow loads it by its path

# mypy: ignore-errors
# It runs in environments that have Airflow; the one that mypy looks at has none.
from __future__ import annotations

import os
import time
from datetime import timedelta
from typing import Any

from airflow.providers.standard.triggers.temporal import TimeDeltaTrigger
from airflow.sdk import BaseOperator, dag, get_current_context, task
from launchguard_lab_site import user_code

MANY = int(os.environ.get("LAUNCHGUARD_LAB_MANY", "200"))
RETRIES = {"retries": 1, "retry_delay": timedelta(seconds=1)}


def _work(seconds: float) -> None:
    with user_code("execute", get_current_context()["ti"]):
        time.sleep(seconds)


@dag(schedule=None)
def solo() -> None:
    """One task with a retry, which takes a moment."""

    @task(**RETRIES)
    def work() -> None:
        _work(1.0)

    work()


@dag(schedule=None)
def lasting() -> None:
    """One task with a retry, whose user code is still running when a late pod of it fails."""

    @task(**RETRIES)
    def work() -> None:
        _work(25.0)

    work()


@dag(schedule=None)
def failing() -> None:
    """One task whose first try fails."""

    @task(**RETRIES)
    def work() -> None:
        _work(1.0)
        if get_current_context()["ti"].try_number == 1:
            raise RuntimeError("the first try fails, as it is to")

    work()


@dag(schedule=None)
def pair() -> None:
    """Two tasks, one after the other."""

    @task(**RETRIES)
    def first() -> None:
        _work(0.5)

    @task(**RETRIES)
    def second() -> None:
        _work(0.5)

    first() >> second()


@dag(schedule=None)
def several() -> None:
    """Independent tasks."""
    for number in range(4):

        @task(task_id=f"work{number}", **RETRIES)
        def work() -> None:
            _work(2.0)

        work()


@dag(schedule=None, max_active_tasks=MANY)
def many() -> None:
    """As many mapped task instances as asked for."""

    @task(**RETRIES)
    def work(number: int) -> None:  # noqa: ARG001  only there to be mapped over
        _work(0.1)

    work.expand(number=list(range(MANY)))


class Waiter(BaseOperator):
    """Defers once, so that one try has two launches."""

    def execute(self, context: Any) -> None:  # noqa: ANN401  the task SDK's Context
        with user_code("execute", context["ti"]):
            pass
        self.defer(trigger=TimeDeltaTrigger(timedelta(seconds=1)), method_name="resume")

    def resume(self, context: Any, event: Any = None) -> None:  # noqa: ANN401, ARG002  as Airflow calls it
        with user_code("resume", context["ti"]):
            time.sleep(1.0)


@dag(schedule=None)
def waiter() -> None:
    """One task that defers."""
    Waiter(task_id="work", **RETRIES)


for make in (solo, lasting, failing, pair, several, many, waiter):
    make()
