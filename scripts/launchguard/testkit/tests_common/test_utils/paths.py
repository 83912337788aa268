"""Where the tests are run from."""

from __future__ import annotations

from pathlib import Path

AIRFLOW_ROOT_PATH = Path.cwd()
"""The root of the source tree."""
