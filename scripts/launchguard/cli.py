"""The command line: parses, calls one function, shows what it gives, and picks the exit code."""

from __future__ import annotations

import rich_click as click

from launchguard import __version__, console
from launchguard.cli_lab import lab
from launchguard.cli_lanes import lanes, report, run
from launchguard.cli_options import Context, json_option, pass_context, source_option, source_options
from launchguard.errors import Exit

click.rich_click.TEXT_MARKUP = "markdown"
click.rich_click.SHOW_ARGUMENTS = True
click.rich_click.COMMAND_GROUPS = {
    "launchguard": [
        {"name": "The series", "commands": ["fetch", "apply", "status", "edit", "refresh", "check", "rebase"]},
        {"name": "Its tests", "commands": ["lanes", "run", "report", "lab"]},
        {"name": "The rest", "commands": ["clean"]},
    ]
}


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.option(
    "--track", "-t", envvar="LAUNCHGUARD_TRACK", help="The pinned base to work on; the newest one here if not given."
)
@click.version_option(__version__)
@click.pass_context
def cli(context: click.Context, track: str | None) -> None:
    """Apply, test and refresh a patch series for Apache Airflow.

    A *track* is one pinned base of Airflow with its patches (`patches/<track>/`); a *lane* is one
    environment that tests it. All that is made lands in `build/`.

    Usual ways through:

    - `launchguard run` fetches, applies and tests everything on all lanes
    - `launchguard edit SLUG` opens a shell in which to change one patch
    - `launchguard check` says whether the series is fit to be committed

    Exit codes: 0 good, 1 problems found, 2 could not tell, 3 unexpected, 130 interrupted.
    """
    context.obj = Context(track)


@cli.command()
@source_options
@json_option
@pass_context
def fetch(context: Context, /, *, source: str, url: str | None, as_json: bool) -> int:
    """Bring the track's sources and unpack them into one git repository.

    From sdists (the default) all that is needed is a package index; `--source git` takes Airflow's
    repository and verifies the tags' commits against the pin. Cached, so that a second call works offline.
    """
    from launchguard.views import show_fetched  # noqa: PLC0415  see cli_options

    tree = context.fetch(source, url)
    return show_fetched(context.project, tree, as_json=as_json)


@cli.command()
@click.option("--until", metavar="SLUG", help="Stop after this patch.")
@click.option(
    "--force", is_flag=True, help="Discard work in the tree that launchguard does not know; a backup ref keeps it."
)
@source_options
@json_option
@pass_context
def apply(context: Context, /, *, until: str | None, force: bool, source: str, url: str | None, as_json: bool) -> int:
    """Apply the series to the tree, one commit a patch.

    No fuzz, and no three-way merge. Where patches fail, the report names **all** failing patches and
    files. Work in the tree that launchguard did not put there is never discarded unless `--force` is given.
    """
    from launchguard.apply import apply as apply_series  # noqa: PLC0415
    from launchguard.views import show_applied  # noqa: PLC0415

    return show_applied(
        apply_series(context.project, context.fetch(source, url), until=until, force=force), as_json=as_json
    )


@cli.command()
@source_option
@json_option
@pass_context
def status(context: Context, /, *, source: str, as_json: bool) -> int:
    """Show the track's patches and how the tree stands to them."""
    from launchguard.status import status as tell  # noqa: PLC0415
    from launchguard.views import show_status  # noqa: PLC0415

    return show_status(tell(context.project, context.track(), source=source), as_json=as_json)


@cli.command()
@click.argument("slug", required=False)
@click.option("--command", "-c", help="Run this instead of an interactive shell.")
@source_options
@pass_context
def edit(context: Context, /, *, slug: str | None, command: str | None, source: str, url: str | None) -> int:
    """Open a shell in the tree; exit 0 keeps and refreshes, any other exit discards.

    With SLUG the tree stands at that patch: what is changed there goes into it, and the patches behind it
    are put on top again. Without, it stands at the end of the series, for new commits.
    """
    from launchguard.edit import edit as edit_tree  # noqa: PLC0415
    from launchguard.views import show_edited  # noqa: PLC0415

    return show_edited(edit_tree(context.project, context.fetch(source, url), slug=slug, command=command))


@cli.command()
@source_options
@json_option
@pass_context
def refresh(context: Context, /, *, source: str, url: str | None, as_json: bool) -> int:
    """Write the tree's commits back as the track's patches, byte for byte."""
    from launchguard.refresh import refresh as export  # noqa: PLC0415
    from launchguard.views import show_refreshed  # noqa: PLC0415

    return show_refreshed(export(context.project, context.fetch(source, url)), as_json=as_json)


@cli.command()
@click.option("--prefixes", is_flag=True, help="Also import and test the tree after every patch (minutes).")
@click.option("--lane", default="head", show_default=True, help="The lane that --prefixes tests in.")
@source_options
@json_option
@pass_context
def check(context: Context, /, *, prefixes: bool, lane: str, source: str, url: str | None, as_json: bool) -> int:
    """Check the series: headers, clean application, byte-exact round trip, Airflow's rules, types, models.

    All faults of a kind are told at once. A minute the first time, then seconds; `--prefixes` also runs
    the tests of every prefix of the series, since each of them may be shipped.
    """
    from launchguard.check import check as check_series  # noqa: PLC0415
    from launchguard.prefixes import check_prefixes  # noqa: PLC0415
    from launchguard.views import show_checked  # noqa: PLC0415

    tree = context.fetch(source, url)
    with console.working("checking the series"):
        done = check_series(context.project, tree)
    if prefixes and not any(one.faults for one in done):
        done.append(check_prefixes(context.project, tree, tree.track.lane(lane)))
    return show_checked(done, as_json=as_json)


@cli.command()
@click.option("--onto", required=True, metavar="TRACK", help="The track whose base takes the series.")
@click.option("--write", is_flag=True, help="Put the patches into that track's folder.")
@source_options
@json_option
@pass_context
def rebase(context: Context, /, *, onto: str, write: bool, source: str, url: str | None, as_json: bool) -> int:
    """Carry the series to another base, and tell how each patch fares there.

    For each patch: clean, merged by three-way, needs work, or already upstream with the evidence for it.
    Nothing is dropped by itself: what needs work is carried as it is, and `apply` on the other track then
    names it.
    """
    from launchguard.rebase import rebase as carry  # noqa: PLC0415
    from launchguard.views import show_rebased  # noqa: PLC0415

    tree = context.fetch(source, url)
    other = Context(onto).fetch(source, url)
    return show_rebased(carry(context.project, tree, other, write=write), as_json=as_json)


@cli.command()
@click.argument(
    "what", nargs=-1, type=click.Choice(["trees", "venvs", "wheels", "snapshots", "results", "cache", "all"])
)
@click.option("--force", is_flag=True, help="Also remove trees that hold work launchguard does not know.")
@pass_context
def clean(context: Context, /, *, what: tuple[str, ...], force: bool) -> int:
    """Remove what was made in `build/`; everything but the downloads if nothing is named."""
    from launchguard.clean import clean as remove  # noqa: PLC0415

    removed = remove(context.project, what, force=force)
    console.say(f"removed {', '.join(removed)}" if removed else "nothing to remove")
    return Exit.GOOD


for command in (lanes, run, report, lab):
    cli.add_command(command)
