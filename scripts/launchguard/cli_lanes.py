"""The commands that test: lanes, run, report."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

import rich_click as click

from launchguard import console
from launchguard.cli_options import Context, json_option, pass_context, source_options
from launchguard.errors import Exit

if TYPE_CHECKING:
    from launchguard.fetch import Tree
    from launchguard.run import Plan
    from launchguard.track import Lane, Track


@click.group(invoke_without_command=True)
@json_option
@click.pass_context
def lanes(context: click.Context, as_json: bool) -> None:
    """List the track's lanes; `lanes lock` renews their locks."""
    if context.invoked_subcommand is None:
        from launchguard.views import show_lanes  # noqa: PLC0415

        mine = context.find_object(Context)
        if mine is not None:
            context.exit(show_lanes(mine.project, mine.track(), as_json=as_json))


@lanes.command("lock")
@click.argument("names", nargs=-1, metavar="[LANE]...")
@pass_context
def lock_command(context: Context, /, *, names: tuple[str, ...]) -> int:
    """Resolve each lane's `.in` file into a lock with hashes, as of the track's day; other releases' too."""
    from launchguard.lock import lock_lane  # noqa: PLC0415

    track = context.track()
    releases = {release.name: release for release in track.releases}
    chosen = [releases.get(name) or track.lane(name) for name in names]
    for lane in chosen or [lane for lane in (*track.lanes, *track.releases) if lane.lock is None]:
        with console.working(f"locking {lane.name}"):
            changed = lock_lane(context.project, track, lane)
        console.say(f"{lane.name}: {'changed' if changed else 'unchanged'}")
    return Exit.GOOD


@click.command()
@click.option("--lane", "-l", "lane_names", multiple=True, help="Only this lane; again for more.")
@click.option("--all-lanes", is_flag=True, help="Extra lanes too.")
@click.option(
    "--suite", "-s", "suite_names", multiple=True, help="series, executor, provider, task-sdk or all; again for more."
)
@click.option("-k", "expression", default="", metavar="EXPR", help="Only tests that match, as pytest's -k.")
@click.option(
    "--jobs", "-j", type=click.IntRange(1), default=os.cpu_count() or 1, show_default="cores", help="Test processes."
)
@click.option("--last-failed", "--lf", is_flag=True, help="Only what failed last time (no baseline).")
@click.option("--no-baseline", is_flag=True, help="Do not run the unpatched side.")
@click.option("--rerun", is_flag=True, help="Run again what is cached.")
@click.option("--refresh-locks", is_flag=True, help="Renew the lanes' locks first.")
@click.option(
    "--runner",
    type=click.Choice(["venv", "breeze"]),
    default="venv",
    show_default=True,
    help="breeze needs a git tree and Docker.",
)
@click.option("--dry-run", is_flag=True, help="With --runner breeze: print its commands.")
@source_options
@json_option
@pass_context
def run(
    context: Context, /, *, source: str, url: str | None, runner: str, dry_run: bool, as_json: bool, **chosen: object
) -> int:
    """Apply the series and test it on the track's lanes.

    Each suite also runs on the released, unpatched parts, so that the report can tell a regression from
    what fails anyway, and a new test that proves something from one that does not. Results are cached by
    their inputs: an unchanged lane costs nothing. Work in the tree that is not exported yet is tested as it
    stands there.

    Without --suite: the tests of the series, and the provider's executor tests.
    """
    if runner == "breeze":
        from launchguard.breeze import run_breeze  # noqa: PLC0415

        tree = context.fetch("git" if source == "sdist" else source, url)
        return run_breeze(context.project, tree, lanes=_names(chosen, "lane_names"), dry_run=dry_run)
    return _run_in_venvs(context, context.fetch(source, url), chosen, as_json=as_json)


def _names(chosen: dict[str, object], key: str) -> tuple[str, ...]:
    value = chosen[key]
    return value if isinstance(value, tuple) else ()


def _run_in_venvs(context: Context, tree: Tree, chosen: dict[str, object], *, as_json: bool) -> int:
    from launchguard.lock import lock_lane  # noqa: PLC0415
    from launchguard.pytestrun import Options  # noqa: PLC0415
    from launchguard.report import remove_report, write_report  # noqa: PLC0415
    from launchguard.run import run_plan  # noqa: PLC0415
    from launchguard.views import show_report  # noqa: PLC0415

    plan = _plan(context, tree, chosen)
    options = Options(
        jobs=int(str(chosen["jobs"])),
        expression=str(chosen["expression"]),
        last_failed=bool(chosen["last_failed"]),
        rerun=bool(chosen["rerun"]),
    )
    if chosen["refresh_locks"]:
        for lane in plan.lanes:
            lock_lane(context.project, tree.track, lane)
    remove_report(context.project)
    with context.project.lock("run"):
        report = run_plan(context.project, plan, options)
    page = write_report(context.project, report)
    return show_report(report, page, as_json=as_json)


def _plan(context: Context, tree: Tree, chosen: dict[str, object]) -> Plan:
    from launchguard.run import Plan  # noqa: PLC0415
    from launchguard.suites import QUICK, SUITES, suite_named  # noqa: PLC0415

    revision, series = _revision(context, tree)
    names = _names(chosen, "suite_names") or QUICK
    wanted = tuple(name for name in SUITES if name != "executor") if "all" in names else names
    return Plan(
        tree=tree,
        revision=revision,
        series=series,
        lanes=_lanes(tree.track, chosen),
        suites=[suite_named(name) for name in wanted],
        baseline=not chosen["no_baseline"],
    )


def _lanes(track: Track, chosen: dict[str, object]) -> list[Lane]:
    named = _names(chosen, "lane_names")
    if named:
        return [track.lane(name) for name in named]
    return [lane for lane in track.lanes if chosen["all_lanes"] or not lane.extra]


def _revision(context: Context, tree: Tree) -> tuple[str, tuple[str, ...]]:
    """Apply the series where the tree is ours, and take the tree as it stands where somebody works in it."""
    from launchguard.apply import apply_all  # noqa: PLC0415
    from launchguard.snapshot import work_tree_id  # noqa: PLC0415
    from launchguard.treestate import unknown_work  # noqa: PLC0415

    series: tuple[str, ...] = ()
    if unknown_work(tree, folder=context.project.track_folder(tree.track.name)) is None:
        applied = apply_all(context.project, tree)
        series = applied.slugs
    else:
        console.note(f"testing {tree.git.folder} as it stands, with work that no patch has yet")
    return work_tree_id(tree.git), series


@click.command()
@click.option("--open", "open_page", is_flag=True, help="Open the HTML page in a browser.")
@json_option
@pass_context
def report(context: Context, /, *, open_page: bool, as_json: bool) -> int:
    """Show the last run's report again."""
    from launchguard.report import load_report  # noqa: PLC0415
    from launchguard.views import show_report  # noqa: PLC0415

    last = load_report(context.project)
    page = context.project.report / "index.html"
    if open_page:
        click.launch(str(page))
    return show_report(last, page, as_json=as_json)
