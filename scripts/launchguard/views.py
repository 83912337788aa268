"""How each command's result looks in a terminal; every function gives the exit code."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.table import Table

from launchguard import console
from launchguard.errors import Exit
from launchguard.trial import Outcome, failure_lines

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from launchguard.apply import Applied
    from launchguard.check import Checked
    from launchguard.edit import Edited
    from launchguard.fetch import Tree
    from launchguard.project import Project
    from launchguard.rebase import Rebased
    from launchguard.refresh import Refreshed
    from launchguard.run import Report
    from launchguard.status import TrackStatus
    from launchguard.track import Track
    from launchguard.trial import PatchTrial


def show_applied(applied: Applied, *, as_json: bool) -> int:
    if as_json:
        console.show_json({"failed": applied.failed, "result": applied})
    elif applied.failed:
        console.note("the series does not apply; nothing was changed:")
        for line in failure_lines(applied.trials):
            console.say(f"  {line}")
    else:
        for line in offset_lines(applied.trials):
            console.warn(line)
        if applied.backup:
            console.note(f"what was discarded is kept at {applied.backup}")
        what = "already applied" if applied.unchanged else "applied"
        console.say(f"{len(applied.slugs)} patches {what} in {applied.tree} ({applied.head[:12]})")
    return Exit.PROBLEMS if applied.failed else Exit.GOOD


def offset_lines(trials: Iterable[PatchTrial]) -> list[str]:
    return [
        f"{trial.slug}: {file.path}: {file.detail}; refresh writes it straight"
        for trial in trials
        for file in trial.files
        if file.outcome is Outcome.OFFSET
    ]


def show_status(status: TrackStatus, *, as_json: bool) -> int:
    if as_json:
        console.show_json(status)
        return Exit.GOOD
    versions = ", ".join(f"{name} {version}" for name, version in status.versions.items())
    console.say(f"track {status.track}: {versions}")
    table = Table("patch", "rules", "upstream", "files", "subject", box=None, pad_edge=False)
    for patch in status.patches:
        table.add_row(patch.slug, " ".join(patch.rules), patch.upstream, str(patch.files), patch.subject)
    console.OUT.print(table)
    tree = status.tree
    if not tree.exists:
        console.say("no tree yet; `launchguard apply` makes it")
        return Exit.GOOD
    extra = [f"{tree.changes} uncommitted changes"] if tree.changes else []
    extra += [f"unfinished: {tree.operation}"] if tree.operation else []
    console.say(", ".join([f"{tree.folder}: {tree.applied} of {len(status.patches)} patches applied", *extra]))
    return Exit.GOOD


def show_edited(edited: Edited) -> int:
    if edited.refreshed is None:
        kept = f"; a copy is kept at {edited.backup}" if edited.backup else ""
        console.say(f"discarded{kept}")
        return Exit.GOOD
    return show_refreshed(edited.refreshed, as_json=False)


def show_refreshed(refreshed: Refreshed, *, as_json: bool) -> int:
    if as_json:
        console.show_json(refreshed)
        return Exit.GOOD
    for word in ("added", "changed", "removed"):
        for slug in getattr(refreshed, word):
            console.say(f"{word} {slug}.patch")
    console.say(f"{len(refreshed.kept)} patches unchanged")
    return Exit.GOOD


def show_checked(done: Sequence[Checked], *, as_json: bool) -> int:
    untold = Exit.CANNOT_TELL if any(one.untold for one in done) else Exit.GOOD
    code = Exit.PROBLEMS if any(one.faults for one in done) else untold
    if as_json:
        console.show_json({"good": code is Exit.GOOD, "checks": done})
        return code
    for one in done:
        console.say(f"{'FAIL' if one.faults else 'ok' if not one.untold else '??'}  {one.name}")
        if one.untold:
            console.say(f"      cannot tell: {one.untold}")
        for line in one.faults:
            console.say(f"      {line}")
        for line in one.warnings:
            console.warn(line)
    return code


def show_rebased(rebased: Rebased, *, as_json: bool) -> int:
    if as_json:
        console.show_json(rebased)
    else:
        for patch in rebased.patches:
            console.say(f"{patch.slug}: {patch.outcome}")
            for evidence in patch.evidence:
                console.say(f"    {evidence.evidence}" + (f": {evidence.commit}" if evidence.commit else ""))
            if patch.conflicts:
                console.say(f"    conflicts in {', '.join(patch.conflicts)}")
            for line in failure_lines([patch.trial]):
                console.say(f"    {line}")
        if rebased.written:
            console.say(f"wrote {len(rebased.written)} files into track {rebased.onto}; nothing was dropped")
    return Exit.PROBLEMS if rebased.needs_work else Exit.GOOD


def show_lanes(project: Project, track: Track, *, as_json: bool) -> int:
    from launchguard.lock import lock_path  # noqa: PLC0415

    rows = [
        {
            "lane": lane.name,
            "python": lane.python,
            "airflow": lane.airflow,
            "database": lane.database,
            "patched": lane.patched,
            "suites": lane.suites,
            "extra": lane.extra,
            "skip_providers": lane.breeze.skip_providers,
            "locked": lock_path(project, track, lane).is_file(),
        }
        for lane in track.lanes
    ]
    if as_json:
        console.show_json({"track": track.name, "lanes": rows})
        return Exit.GOOD
    table = Table("lane", "python", "airflow", "database", "patched parts", "suites", "lock", box=None, pad_edge=False)
    for lane, row in zip(track.lanes, rows, strict=True):
        lock = ("locked" if row["locked"] else "none") + (", extra" if lane.extra else "")
        table.add_row(
            lane.name, lane.python, lane.airflow, lane.database, ", ".join(lane.patched), ", ".join(lane.suites), lock
        )
    console.OUT.print(table)
    return Exit.GOOD


def show_report(report: Report, page: Path, *, as_json: bool) -> int:
    from launchguard.report import GROUPS, row_of, verdict_word  # noqa: PLC0415

    if as_json:
        console.show_json(
            {
                "code": report.code,
                "rows": [row_of(report, verdict) for verdict in report.verdicts],
                "unbuilt": report.unbuilt,
            }
        )
        return report.code
    table = Table("lane", "python", "airflow", "suite", box=None, pad_edge=False)
    for heading in ("passed", "failed", "skipped", "regressions"):
        table.add_column(heading, justify="right")
    table.add_column("unpatched")
    table.add_column("seconds", justify="right")
    table.add_column("state")
    for row in (row_of(report, verdict) for verdict in report.verdicts):
        counts = (row.passed, row.failed, row.skipped, row.regressions)
        table.add_row(
            row.lane,
            row.python,
            row.airflow,
            row.suite,
            *map(str, counts),
            row.unpatched,
            f"{row.seconds:.0f}",
            row.state,
        )
    console.OUT.print(table)
    for one in report.unbuilt:
        console.say(f"{one.lane} {one.suite}: not run: {one.reason.splitlines()[0]}")
    for field, title in GROUPS:
        for verdict in report.verdicts:
            for test in getattr(verdict, field):
                console.say(f"{title.partition(':')[0]}: {verdict.run.lane} {verdict.run.suite}: {test}")
    console.say(f"{verdict_word(report)}; the page: {page}")
    return report.code


def show_fetched(project: Project, tree: Tree, *, as_json: bool) -> int:
    from launchguard.gitsource import Preimage  # noqa: PLC0415
    from launchguard.preimages import compare_with_sdists  # noqa: PLC0415

    compared = compare_with_sdists(project, tree)
    bad = [one for one in compared if one.outcome is not Preimage.EQUAL]
    if as_json:
        console.show_json(
            {"folder": str(tree.git.folder), "base": tree.base, "source": tree.source, "preimages": compared}
        )
    else:
        for one in bad:
            console.say(f"{one.path}: {one.outcome}")
        if compared and not bad:
            console.say(f"the {len(compared)} files that the series touches are the same in git and in the sdists")
        console.say(f"{tree.git.folder} at base {tree.base[:12]}")
    return Exit.PROBLEMS if bad else Exit.GOOD
