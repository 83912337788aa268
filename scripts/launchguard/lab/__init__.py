"""The race laboratory: real Airflow and worker processes on a stand-in for Kubernetes, with faults on demand."""

from __future__ import annotations
