"""Plugins that exist for one test."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from unittest import mock

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


@contextmanager
def mock_plugin_manager(plugins: Sequence[Any] = ()) -> Iterator[None]:
    """Have the SDK's plugin manager know exactly these plugins."""
    from airflow.sdk import plugins_manager

    _forget_plugins(plugins_manager)
    with mock.patch.object(plugins_manager, "_get_plugins", return_value=(list(plugins), {})):
        yield
    _forget_plugins(plugins_manager)


def _forget_plugins(module: Any) -> None:
    for function in vars(module).values():
        if hasattr(function, "cache_clear") and function.__module__ == module.__name__:
            function.cache_clear()
