"""The suites, as data: which tests each one runs, from which part of the tree."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from launchguard.errors import LaunchguardError
from launchguard.track import CORE, PART_FOLDERS, PROVIDER, SDK

if TYPE_CHECKING:
    from collections.abc import Iterable

    from launchguard.fetch import Tree
    from launchguard.track import Lane


@dataclass(frozen=True)
class Suite:
    """A named set of tests.

    Args:
        name: what `--suite` takes.
        about: one line for the help.
        paths: what pytest collects, by part; empty for the tests that the series itself brings.
        in_order: its files leave things behind for one another: one process, in the order that upstream runs them.
    """

    name: str
    about: str
    paths: dict[str, tuple[str, ...]]
    in_order: bool = False


@dataclass(frozen=True)
class Invocation:
    """One pytest call: the part whose tests it runs, and their paths in the tree."""

    part: str
    paths: tuple[str, ...]


SERIES = Suite("series", "the tests that the patches bring", {})
SUITES = {
    suite.name: suite
    for suite in (
        SERIES,
        Suite("executor", "the provider's executor tests", {PROVIDER: ("tests/unit/cncf/kubernetes/executors",)}),
        Suite("provider", "all of the provider's unit tests", {PROVIDER: ("tests/unit",)}),
        Suite("task-sdk", "the task SDK's tests", {SDK: ("tests/task_sdk",)}, in_order=True),
    )
}
QUICK = ("series", "executor")


def suite_named(name: str) -> Suite:
    """Find a suite.

    Raises:
        LaunchguardError: there is none of that name.
    """
    if name not in SUITES:
        raise LaunchguardError(f"there is no suite {name!r}; suites: {', '.join(SUITES)}")
    return SUITES[name]


def invocations(suite: Suite, tree: Tree, lane: Lane, head: str) -> list[Invocation]:
    """Give the pytest calls of a suite on a lane.

    The series' own tests run where the part that they belong to is the patched one.

    Args:
        suite: which one.
        tree: the tree.
        lane: which one.
        head: the patched commit or tree.
    """
    if suite.paths:
        return [
            Invocation(part, tuple(f"{PART_FOLDERS[part]}/{path}" for path in paths))
            for part, paths in suite.paths.items()
        ]
    added = tree.git.run("diff", "--name-only", "--diff-filter=A", "-z", tree.base, head).text.split("\0")
    return [
        Invocation(part, found)
        for part in (CORE, SDK, PROVIDER)
        if part in lane.patched and (found := _tests_of(part, added))
    ]


def _tests_of(part: str, paths: Iterable[str]) -> tuple[str, ...]:
    tests = (path for path in paths if path.startswith(f"{PART_FOLDERS[part]}/tests/") and path.endswith(".py"))
    return tuple(sorted(path for path in tests if path.rpartition("/")[2].startswith("test_")))
