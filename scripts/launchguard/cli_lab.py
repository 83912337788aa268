"""The race laboratory's commands: run, list, fuzz, measure, report."""

from __future__ import annotations

import dataclasses
import functools
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import rich_click as click

from launchguard.cli_options import Context, F, json_option, pass_context, source_options
from launchguard.errors import LaunchguardError
from launchguard.postgres import URL_VARIABLE

if TYPE_CHECKING:
    from launchguard.lab.cluster.choice import ClusterChoice
    from launchguard.lab.installs import Ground
    from launchguard.lab.outcome import Side

_IMAGED: Final = ("released", "newer", "patched")
_SIDES: Final = (*_IMAGED, "both", "all")

_SIDES_HELP: Final = "Which Airflow: newer is upstream's newest release, for comparison; both are released and patched."


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
def lab() -> None:
    """Prove the series with real processes: real Airflow, a stand-in for Kubernetes, races on demand.

    Each scenario is played on released and on patched Airflow. The released run must break where the
    scenario says so, the patched one must hold; one that needs a rule without a patch is *open*, which is
    no pass. All of it lands in `build/lab`.
    """


def _lab_options(command: F) -> F:
    """Add what all runs take."""
    sides = click.option("--side", type=click.Choice(_SIDES), default="both", show_default=True, help=_SIDES_HELP)
    database = click.option(
        "--database-url", metavar="URL", help="A PostgreSQL server to make databases in; an embedded one if not given."
    )
    return sides(database(_cluster_options(source_options(json_option(command)))))


def _cluster_options(command: F) -> F:
    """Add what says that a real cluster is to be used; the command gets it as `cluster`."""
    existing = click.Path(path_type=Path, dir_okay=False)
    options = [
        click.option("--kubeconfig", type=existing, metavar="FILE", help="Play on this cluster, not on the stand-in."),
        click.option("--context", "kube_context", default="", help="Of the kubeconfig; its current one if not given."),
        click.option("--namespace", default="", help="For the workers' pods; one is made and deleted if not given."),
        *(click.option(f"--image-{side}", default="", help=f"The workers' image: {side}.") for side in _IMAGED),
        click.option("--worker-host", default="", help="By which pods reach this machine; found out if not given."),
    ]

    @functools.wraps(command)
    def wrapped(*given: object, kubeconfig: Path | None, **named: Any) -> object:  # noqa: ANN401  click's
        images = {side: named.pop(f"image_{side}") for side in _IMAGED}
        told = {name: named.pop(name) for name in ("kube_context", "namespace", "worker_host")}
        cluster = _cluster_choice(kubeconfig, images, told, _sides(named["side"]))
        return command(*given, cluster=cluster, **named)

    return functools.reduce(lambda made, option: option(made), reversed(options), wrapped)  # type: ignore[return-value]


def _cluster_choice(
    kubeconfig: Path | None, images: dict[str, str], told: dict[str, str], sides: tuple[Side, ...]
) -> ClusterChoice | None:
    from launchguard.lab.cluster.choice import ClusterChoice  # noqa: PLC0415
    from launchguard.lab.outcome import Side  # noqa: PLC0415

    if kubeconfig is None:
        if any([*images.values(), *told.values()]):
            raise LaunchguardError("images, --context, --namespace and --worker-host go with --kubeconfig")
        return None
    named = {Side(side): image for side, image in images.items() if image and Side(side) in sides}
    choice = ClusterChoice(kubeconfig, told["kube_context"], told["namespace"], told["worker_host"], named)
    choice.check(sides)
    return choice


@lab.command("list")
@json_option
@pass_context
def list_command(context: Context, /, *, as_json: bool) -> int:
    """List the scenarios, with the rules that each needs."""
    from launchguard.lab.outcome import rules_of  # noqa: PLC0415  see cli_options
    from launchguard.lab.scenario import load_scenarios  # noqa: PLC0415
    from launchguard.views_lab import show_scenarios  # noqa: PLC0415

    rules = rules_of(context.project.track_folder(context.track().name))
    return show_scenarios(load_scenarios(), rules, as_json=as_json)


@lab.command("run")
@click.argument("names", nargs=-1, metavar="[SCENARIO]...")
@click.option("--short", is_flag=True, help="Only the short set, which takes a few minutes.")
@_lab_options
@pass_context
def run_command(
    context: Context,
    /,
    *,
    names: tuple[str, ...],
    short: bool,
    side: str,
    database_url: str | None,
    source: str,
    url: str | None,
    cluster: ClusterChoice | None,
    as_json: bool,
) -> int:
    """Play scenarios, before and after; all of them if none is named."""
    from launchguard.lab.labpage import write_page  # noqa: PLC0415
    from launchguard.lab.runner import play_scenarios  # noqa: PLC0415
    from launchguard.lab.scenario import choose, load_scenarios  # noqa: PLC0415
    from launchguard.views_lab import show_lab  # noqa: PLC0415

    scenarios = choose(load_scenarios(), names, short=short)
    ground = _ground(context, source, url, database_url, cluster)
    with context.project.lock("run"):
        report = play_scenarios(ground, _sides(side), scenarios)
    return show_lab(report, write_page(ground.folder, report), as_json=as_json)


@lab.command("fuzz")
@click.option("--seed", type=int, default=0, show_default=True, help="Of everything that is drawn.")
@click.option("--minutes", type=click.FloatRange(0), default=10, show_default=True, help="For each side.")
@click.option("--only", type=click.IntRange(0), metavar="N", help="Replay only scenario N of the seed.")
@_lab_options
@pass_context
def fuzz_command(
    context: Context,
    /,
    *,
    seed: int,
    minutes: float,
    only: int | None,
    side: str,
    database_url: str | None,
    source: str,
    url: str | None,
    cluster: ClusterChoice | None,
    as_json: bool,
) -> int:
    """Play random interleavings of faults until the time is up.

    The seed, a scenario's number and the tree's revision make the same faults again; processes keep their
    own pace, so a replay meets the same ordeals but not always the same race.
    """
    from launchguard.lab.labpage import write_page  # noqa: PLC0415
    from launchguard.lab.runner import play_random  # noqa: PLC0415
    from launchguard.views_lab import show_lab  # noqa: PLC0415

    ground = _ground(context, source, url, database_url, cluster)
    with context.project.lock("run"):
        report = play_random(ground, _sides(side), seed, minutes=minutes, only=only)
    return show_lab(report, write_page(ground.folder, report), as_json=as_json)


@lab.command("measure")
@click.option("--tasks", type=click.IntRange(1), default=200, show_default=True, help="Task instances.")
@_lab_options
@pass_context
def measure_command(
    context: Context,
    /,
    *,
    tasks: int,
    side: str,
    database_url: str | None,
    source: str,
    url: str | None,
    cluster: ClusterChoice | None,
    as_json: bool,
) -> int:
    """Count stale launches, failed pods and burnt retries under a quota, with two schedulers."""
    from launchguard.lab.labpage import write_page  # noqa: PLC0415
    from launchguard.lab.runner import measure  # noqa: PLC0415
    from launchguard.views_lab import show_counts  # noqa: PLC0415

    ground = _ground(context, source, url, database_url, cluster)
    with context.project.lock("run"):
        report, counts = measure(ground, _sides(side), tasks)
    write_page(ground.folder, report)
    return show_counts(counts, report, as_json=as_json)


@lab.command("report")
@click.option("--open", "open_page", is_flag=True, help="Open the HTML page in a browser.")
@json_option
@pass_context
def report_command(context: Context, /, *, open_page: bool, as_json: bool) -> int:
    """Show the last campaign again."""
    from launchguard.lab.labpage import write_page  # noqa: PLC0415
    from launchguard.lab.labreport import load  # noqa: PLC0415
    from launchguard.views_lab import show_lab  # noqa: PLC0415

    folder = context.project.build / "lab"
    last = load(folder)
    page = write_page(folder, last)
    if open_page:
        click.launch(str(page))
    return show_lab(last, page, as_json=as_json)


def _ground(
    context: Context, source: str, url: str | None, database_url: str | None, cluster: ClusterChoice | None
) -> Ground:
    from launchguard.lab.installs import prepare  # noqa: PLC0415

    if database_url:
        os.environ[URL_VARIABLE] = database_url
    return dataclasses.replace(prepare(context.project, context.fetch(source, url)), cluster=cluster)


def _sides(side: str) -> tuple[Side, ...]:
    from launchguard.lab.outcome import BEFORE_AND_AFTER, Side  # noqa: PLC0415

    return {"both": BEFORE_AND_AFTER, "all": tuple(Side)}.get(side) or (Side(side),)
