"""Real Airflow on the stand-in for Kubernetes: schedulers, API server, Dag processor, triggerer, a PostgreSQL."""

from __future__ import annotations
