"""What several commands share: the context they get, and the options they take.

Commands import what they run when they run: `launchguard status` should not pay for jinja2.
"""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, TypeVar

import rich_click as click

from launchguard.errors import LaunchguardError
from launchguard.project import Project, find_project

if TYPE_CHECKING:
    from collections.abc import Callable

    from launchguard.fetch import Tree
    from launchguard.track import Track

F = TypeVar("F", bound="Callable[..., object]")


class Context:
    """What a command works on."""

    def __init__(self, track: str | None) -> None:
        self._track = track

    @functools.cached_property
    def project(self) -> Project:
        return find_project()

    def track(self) -> Track:
        from launchguard.track import load_track  # noqa: PLC0415

        name = self._track or _newest(self.project.tracks())
        return load_track(self.project, name)

    def fetch(self, source: str, url: str | None) -> Tree:
        from launchguard.fetch import fetch  # noqa: PLC0415

        return fetch(self.project, self.track(), source=source, url=url)


def _newest(tracks: list[str]) -> str:
    if not tracks:
        raise LaunchguardError("no patches/*/track.toml here; run this inside a launchguard checkout")
    return max(tracks, key=lambda name: [int(part) if part.isdigit() else -1 for part in name.split(".")])


pass_context = click.make_pass_decorator(Context)
json_option = click.option("--json", "as_json", is_flag=True, help="Write JSON to stdout instead of text.")


source_option = click.option(
    "--source",
    type=click.Choice(["sdist", "git"]),
    default="sdist",
    show_default=True,
    help="What the tree is made of: released sdists, or Airflow's git.",
)


def source_options(command: F) -> F:
    """Add --source and --url."""
    url = click.option("--url", help="The repository for --source git; Airflow's own if not given.")
    return source_option(url(command))
