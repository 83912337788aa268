"""A worker's task instance that needs no supervisor, because it works on the database itself (3.2 and later)."""

from __future__ import annotations

from typing import Any

from airflow.models.xcom import XComModel
from airflow.sdk.execution_time.task_runner import RuntimeTaskInstance


class StoredTaskInstance(RuntimeTaskInstance):
    """Keep XComs where a test finds them."""

    def xcom_push(self, key: str, value: Any) -> None:
        XComModel.set(
            key=key,
            value=value,
            dag_id=self.dag_id,
            task_id=self.task_id,
            run_id=self.run_id,
            map_index=-1 if self.map_index is None else self.map_index,
        )
