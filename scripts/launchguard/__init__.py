"""An ordered git patch series for Apache Airflow, and the harness that applies, tests and refreshes it."""

from __future__ import annotations

__version__ = "0.1.0"
