"""Entry point: shipped conftest files name this module in ``pytest_plugins``; runs of new core tests use ``-p``."""

from __future__ import annotations

import sys

import pytest

from tests_common import environment

environment.prepare()

pytest_plugins = (
    "tests_common.fixtures.isolation",
    "tests_common.fixtures.dags",
    "tests_common.fixtures.connections",
    "tests_common.fixtures.logs",
    "tests_common.fixtures.plugins",
    "tests_common.fixtures.worker",
)

# Known so that pytest can be strict about others; nothing here acts on them.
_MARKERS = (
    "db_test: the test needs the metadata database",
    "enable_redact: upstream masks secrets only in these tests, here it is always so",
    "execution_timeout(seconds): the longest that the test may take",
    "flaky(**options): upstream runs the test again when it fails",
    "need_serialized_dag(wanted=True): the test needs the Dag's serialized form, which dag_maker always stores",
    "non_db_test_override: the test needs no database although its module does",
    "platform(name): the platform that the test is for",
)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addini("airflow_deprecations_ignore", "set by the task SDK's conftest; has no effect here", type="args")


def pytest_configure(config: pytest.Config) -> None:
    # Upstream's setting for the task SDK's suite; an ini file's paths are relative to the file, not to the tree.
    sys.path.insert(0, str(config.rootpath / "task-sdk" / "tests"))
    for marker in _MARKERS:
        config.addinivalue_line("markers", marker)


def pytest_itemcollected(item: pytest.Item) -> None:
    # Upstream's tests count on it: code under test must not use what its provider deprecated.
    item.add_marker(pytest.mark.filterwarnings("error::airflow.exceptions.AirflowProviderDeprecationWarning"))
