"""Facts that a provider states about itself."""

from __future__ import annotations

from importlib.metadata import requires

from packaging.requirements import Requirement


def get_provider_min_airflow_version(provider_name: str) -> tuple[int, ...]:
    """Return the lowest Airflow version that the named provider distribution asks for."""
    for line in requires(provider_name) or ():
        requirement = Requirement(line)
        if requirement.name == "apache-airflow" and requirement.marker is None:
            bounds = (spec.version for spec in requirement.specifier if spec.operator == ">=")
            return tuple(int(part) for part in next(bounds).split("."))
    msg = f"{provider_name} states no lowest Airflow version"
    raise ValueError(msg)
