"""Names that tests import from one place although releases keep them in different ones."""

from __future__ import annotations

from airflow.providers.common.compat.sdk import timezone
from airflow.providers.standard.operators.bash import BashOperator
from airflow.providers.standard.operators.empty import EmptyOperator
from airflow.providers.standard.operators.python import PythonOperator

__all__ = ["BashOperator", "EmptyOperator", "PythonOperator", "timezone"]
