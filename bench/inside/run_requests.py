"""The execution API's `/run`, asked as a starting worker asks it; run by `bench.run_requests`.

The application is the real one, with its authentication, called in this process: no socket adds its noise.
"""

# mypy: ignore-errors
# It runs in environments that have Airflow; the one that mypy looks at has none.
from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from uuid import UUID

import httpx
from airflow.api_fastapi.app import create_app
from airflow.api_fastapi.execution_api.app import _jwt_generator
from airflow.models.taskinstance import TaskInstance
from airflow.sdk.api.datamodels import _generated as sdk
from airflow.utils.session import create_session
from bench.inside.commands import Requests
from bench.inside.statements import Statements
from sqlalchemy import select


def payload(ti: TaskInstance) -> dict[str, object]:
    """Give what this installation's worker sends."""
    known = {
        "state": "running",
        "hostname": "bench",
        "unixname": "airflow",
        "pid": 7,
        "start_date": datetime.now(UTC).isoformat(),
        "external_executor_id": ti.external_executor_id,
        "try_number": ti.try_number,
    }
    return {name: value for name, value in known.items() if name in sdk.TIEnterRunningPayload.model_fields}


def payloads(ids: list[str]) -> dict[str, dict[str, object]]:
    with create_session() as session:
        tis = session.scalars(select(TaskInstance).where(TaskInstance.id.in_([UUID(one) for one in ids])))
        return {str(ti.id): payload(ti) for ti in tis.unique()}


async def timed_run(
    client: httpx.AsyncClient, request: tuple[str, dict[str, object], str], statements: Statements
) -> tuple[float, int]:
    """Start a task instance; gives seconds, and statements sent."""
    ti_id, body, token = request
    url, headers = f"/execution/task-instances/{ti_id}/run", {"Authorization": f"Bearer {token}"}
    before, started = statements.sent, time.perf_counter()
    answer = await client.patch(url, json=body, headers=headers)
    took = time.perf_counter() - started
    sent = statements.sent - before
    answer.raise_for_status()
    return took, sent


async def serve() -> None:
    requests, statements = Requests(), Statements()
    app, generator = create_app(apps="execution"), _jwt_generator()
    headers = {"Airflow-API-Version": sdk.API_VERSION}
    client = httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://airflow", headers=headers)
    async with app.router.lifespan_context(app), client:
        for request in requests:
            bodies = payloads(request["ids"])
            ready = [
                (one, body, generator.generate(extras={"sub": one, "scope": "workload"}))
                for one, body in bodies.items()
            ]
            samples = [await timed_run(client, one, statements) for one in ready]
            requests.answer(samples=samples, fields=sorted(ready[0][1]))


if __name__ == "__main__":
    asyncio.run(serve())
