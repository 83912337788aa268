"""Temporary configuration."""

from __future__ import annotations

import os
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from tests_common.test_utils.version_compat import AIRFLOW_V_3_2_PLUS

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextmanager
def conf_vars(overrides: dict[tuple[str, str], str | None]) -> Iterator[None]:
    """Set options, given as ``(section, key)``, for the length of the context; ``None`` removes one.

    The environment outranks every other source of configuration, so the options are taken out of it meanwhile.
    """
    from airflow import settings

    variables = {f"AIRFLOW__{section.upper()}__{key.upper()}" for section, key in overrides}
    kept = {name: os.environ.pop(name) for name in variables if name in os.environ}
    before = [(conf, _read(conf, overrides)) for conf in _parsers()]
    for conf, _ in before:
        _write(conf, overrides)
    settings.configure_vars()
    try:
        yield
    finally:
        for conf, values in before:
            _write(conf, values)
        os.environ.update(kept)
        settings.configure_vars()


def _parsers() -> list[Any]:
    """Return the parsers in this process: from 3.2 on the SDK has one of its own."""
    from airflow.configuration import conf

    if not AIRFLOW_V_3_2_PLUS:
        return [conf]
    from airflow.sdk.configuration import conf as sdk_conf

    return [conf, sdk_conf]


def _read(conf: Any, options: Any) -> dict[tuple[str, str], str | None]:
    return {
        (section, key): conf.get(section, key) if conf.has_option(section, key) else None for section, key in options
    }


def _write(conf: Any, options: dict[tuple[str, str], str | None]) -> None:
    for (section, key), value in options.items():
        if value is None:
            conf.remove_option(section, key)
            continue
        if not conf.has_section(section):
            conf.add_section(section)
        conf.set(section, key, value)


def create_fresh_airflow_config(part: str) -> Any:
    """Return a new parser of ``"task-sdk"`` or ``"core"`` that no test has touched."""
    if part == "task-sdk":
        from airflow.sdk.configuration import AirflowSDKConfigParser

        return AirflowSDKConfigParser()
    from airflow.configuration import AirflowConfigParser

    return AirflowConfigParser()


_CELERY_APP = "airflow.providers.celery.executors.celery_executor"

PROVIDER_METADATA_CONFIG_OPTIONS = [
    ("celery", "celery_app_name", _CELERY_APP),
    ("celery", "worker_enable_remote_control", "true"),
    ("celery", "task_acks_late", "True"),
]
"""Section, option and default as the Celery provider states them."""

CFG_FALLBACK_CONFIG_OPTIONS = [
    ("celery", "flower_host", "0.0.0.0"),
    ("celery", "pool", "prefork"),
    ("elasticsearch", "offset_field", "offset"),
]
"""Section, option and default in the core's fallback file for providers that state none."""

PROVIDER_METADATA_OVERRIDES_CFG_FALLBACK = [
    ("celery", "celery_app_name", _CELERY_APP, "airflow.executors.celery_executor"),
]
"""Section, option and two different defaults: the provider's and the fallback file's."""
