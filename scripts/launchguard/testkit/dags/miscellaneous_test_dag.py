"""The Dag of six tasks that the provider's test of ``generate-dag-yaml`` asks for by name."""

from __future__ import annotations

import datetime

from airflow.providers.standard.operators.empty import EmptyOperator

try:
    from airflow.sdk import DAG
except ImportError:
    from airflow.models.dag import DAG

with DAG(
    "miscellaneous_test_dag", schedule="@daily", start_date=datetime.datetime(2020, 1, 1, tzinfo=datetime.timezone.utc)
):
    EmptyOperator(task_id="run_after_loop")
    for number in range(5):
        EmptyOperator(task_id=f"task_{number}")
