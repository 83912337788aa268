"""Airflow's public API, as much of it as the lab asks for."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

import requests

from launchguard.errors import LaunchguardError

if TYPE_CHECKING:
    from collections.abc import Callable

_TIMEOUT: Final = 30.0
_BETWEEN_LOOKS: Final = 0.2


class Rest:
    """A client of one deployment's API server.

    Args:
        url: of the server, without a path.
    """

    def __init__(self, url: str) -> None:
        self._url = url
        self._session = requests.Session()
        # The user's proxies have no business on loopback.
        self._session.trust_env = False

    def get(self, path: str, **query: str) -> Any:  # noqa: ANN401  JSON
        return self._ask("GET", path, params=query)

    def post(self, path: str, body: object) -> Any:  # noqa: ANN401  JSON
        return self._ask("POST", path, json=body)

    def patch(self, path: str, body: object) -> Any:  # noqa: ANN401  JSON
        return self._ask("PATCH", path, json=body)

    def _ask(self, method: str, path: str, **asked: Any) -> Any:  # noqa: ANN401  JSON
        if "Authorization" not in self._session.headers:
            token = self._session.get(f"{self._url}/auth/token", timeout=_TIMEOUT)
            token.raise_for_status()
            self._session.headers["Authorization"] = f"Bearer {token.json()['access_token']}"
        answer = self._session.request(method, f"{self._url}/api/v2{path}", timeout=_TIMEOUT, **asked)
        if not answer.ok:
            raise LaunchguardError(f"{method} {path}: {answer.status_code} {answer.text[:500]}")
        return answer.json() if answer.content else None

    def schedulers_alive(self) -> int:
        jobs = self.get("/jobs", job_type="SchedulerJob", is_alive="true")
        return int(jobs["total_entries"])

    def dag_ids(self) -> set[str]:
        return {str(dag["dag_id"]) for dag in self.get("/dags")["dags"]}

    def trigger(self, dag_id: str, run_id: str) -> None:
        """Start a run of a Dag, which is unpaused first."""
        self.patch(f"/dags/{dag_id}", {"is_paused": False})
        self.post(f"/dags/{dag_id}/dagRuns", {"dag_run_id": run_id, "logical_date": None})

    def task_instances(self, dag_id: str, run_id: str) -> list[dict[str, Any]]:
        found = self.get(f"/dags/{dag_id}/dagRuns/{run_id}/taskInstances")["task_instances"]
        return list(found)


def wait_until(what: str, done: Callable[[], bool], *, within: float, check: Callable[[], None]) -> None:
    """Look again and again until `done`; a server that is not up yet counts as not done.

    Args:
        what: for the message.
        within: seconds.
        check: raises when there is no use in waiting on.

    Raises:
        LaunchguardError: it took too long.
    """
    until = time.monotonic() + within
    last = ""
    while time.monotonic() < until:
        check()
        try:
            if done():
                return
        except (requests.RequestException, LaunchguardError) as error:
            last = f"; last: {error}"
        time.sleep(_BETWEEN_LOOKS)
    raise LaunchguardError(f"{what} took more than {within:g} s{last}")
