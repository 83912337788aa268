"""Which pytest calls a suite comes to."""

from __future__ import annotations

import pytest
from factories import commit, make_tree

from launchguard.errors import LaunchguardError
from launchguard.suites import SERIES, SUITES, Invocation, invocations, suite_named
from launchguard.track import Lane

HEAD = Lane("head", "3.10", "3.3.0", ("core", "task-sdk", "provider"), ("series",))
COMPAT = Lane("compat", "3.10", "3.1.8", ("provider",), ("series",))
CORE_TEST = "airflow-core/tests/unit/jobs/test_new.py"
PROVIDER_TEST = "providers/cncf/kubernetes/tests/unit/test_new.py"


@pytest.fixture
def tree(project):
    tree = make_tree(project)
    files = {
        CORE_TEST: "def test_core(): pass\n",
        PROVIDER_TEST: "def test_provider(): pass\n",
        "providers/cncf/kubernetes/tests/unit/helper.py": "",
        "providers/cncf/kubernetes/tests/unit/test_executor.py": "def test_executor(): pass  # changed\n",
        "task-sdk/src/airflow/sdk/test_looks_like_one.py": "",
    }
    commit(tree.git, files, "Bring tests")
    return tree


def test_the_series_suite_is_the_new_test_files_of_the_patched_parts(tree):
    assert invocations(SERIES, tree, HEAD, "HEAD") == [
        Invocation("core", (CORE_TEST,)),
        Invocation("provider", (PROVIDER_TEST,)),
    ]


def test_a_lane_with_a_released_core_runs_no_core_tests(tree):
    assert invocations(SERIES, tree, COMPAT, "HEAD") == [Invocation("provider", (PROVIDER_TEST,))]


def test_a_series_that_brings_no_tests_has_none(project):
    assert invocations(SERIES, make_tree(project), HEAD, "HEAD") == []


def test_other_suites_name_their_folders_in_the_tree(tree):
    (call,) = invocations(SUITES["executor"], tree, COMPAT, "HEAD")
    assert call.paths == ("providers/cncf/kubernetes/tests/unit/cncf/kubernetes/executors",)


def test_an_unknown_suite_names_those_there_are():
    with pytest.raises(LaunchguardError, match="series, executor, provider, task-sdk"):
        suite_named("all-of-it")
