"""KubernetesExecutor's own `sync()`, on launches queued as the scheduler queues them; run by `bench.sync_pods`."""

# mypy: ignore-errors
# It runs in environments that have Airflow; the one that mypy looks at has none.
from __future__ import annotations

import inspect
import sys
import time
from uuid import UUID

from airflow.executors.workloads import ExecuteTask
from airflow.models.taskinstance import TaskInstance
from airflow.providers.cncf.kubernetes.executors.kubernetes_executor import KubernetesExecutor
from airflow.utils.session import create_session
from bench.inside.commands import Requests
from bench.inside.statements import Statements
from sqlalchemy import select


def make_workload(executor: KubernetesExecutor, ti: TaskInstance) -> ExecuteTask:
    extra = {}
    # Only the patched scheduler hands the launch's token over.
    if "launch_token" in inspect.signature(ExecuteTask.make).parameters and executor.pre_assigns_external_executor_id:
        extra["launch_token"] = ti.external_executor_id
    return ExecuteTask.make(ti, generator=executor.jwt_generator, **extra)


def make_workloads(executor: KubernetesExecutor, ids: list[str]) -> list[ExecuteTask]:
    with create_session() as session:
        tis = session.scalars(select(TaskInstance).where(TaskInstance.id.in_([UUID(one) for one in ids])))
        return [make_workload(executor, ti) for ti in tis.unique()]


def timed_sync(executor: KubernetesExecutor, workloads: list[ExecuteTask], statements: Statements) -> tuple[float, int]:
    """Queue launches, and time the `sync()` that makes pods of them; gives seconds, and statements sent."""
    for workload in workloads:
        executor.queue_workload(workload, None)
    executor.trigger_tasks(len(workloads))
    before, started = statements.sent, time.perf_counter()
    executor.sync()
    took = time.perf_counter() - started
    sent = statements.sent - before
    made = executor.task_queue.empty() and not any(
        state == "failed" for state, _info in executor.get_event_buffer().values()
    )
    if not made:
        raise RuntimeError("not every launch became a pod")
    executor.running.clear()
    return took, sent


def main(job_id: int) -> None:
    requests, statements = Requests(), Statements()
    executor = KubernetesExecutor()
    executor.job_id = job_id
    executor.start()
    workloads = []
    try:
        for request in requests:
            if "ids" in request:
                workloads = make_workloads(executor, request["ids"])
                requests.answer(workloads=len(workloads))
                continue
            batch = executor.kube_config.worker_pods_creation_batch_size = request["batch"]
            if len(workloads) < request["pods"]:
                raise RuntimeError(f"{len(workloads)} workloads for {request['pods']} pods")
            batches = [workloads[at : at + batch] for at in range(0, request["pods"], batch)]
            requests.answer(samples=[timed_sync(executor, one, statements) for one in batches])
    finally:
        executor.end()


if __name__ == "__main__":
    main(int(sys.argv[1]))
