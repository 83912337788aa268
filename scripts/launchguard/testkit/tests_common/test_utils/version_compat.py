"""Which Airflow is installed."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from packaging.version import Version


def get_base_airflow_version_tuple() -> tuple[int, int, int]:
    """Return the release numbers of the installed Airflow; a local or development suffix does not count."""
    try:
        found = Version(version("apache-airflow-core"))
    except PackageNotFoundError:
        found = Version(version("apache-airflow"))
    return found.major, found.minor, found.micro


_VERSION = get_base_airflow_version_tuple()

AIRFLOW_V_3_0_PLUS = _VERSION >= (3, 0, 0)
AIRFLOW_V_3_1_PLUS = _VERSION >= (3, 1, 0)
AIRFLOW_V_3_2_PLUS = _VERSION >= (3, 2, 0)
AIRFLOW_V_3_3_PLUS = _VERSION >= (3, 3, 0)
AIRFLOW_V_3_4_PLUS = _VERSION >= (3, 4, 0)
