"""What holds for every command: help, exit codes, JSON, one-line errors."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING

import click
import pytest
from factories import (
    EXECUTOR,
    TRACK,
    Change,
    add_series,
    add_track,
    edit_track,
    invoke,
    launchguard,
    launchguard_environment,
    make_tree,
    numbered,
)

import launchguard as package
from launchguard.cli import cli

if TYPE_CHECKING:
    from launchguard.project import Project

ONE = Change("one", {EXECUTOR: numbered("step", _3="x = 1")})
NO_TESTS = Change("one", {"providers/cncf/kubernetes/tests/unit/test_new.py": "def test_new(): pass\n"})
BROKEN = """
import launchguard.__main__ as program, launchguard.cli_options as options
options.find_project = lambda: 1 / 0
program.main()
"""


def every_command(
    group: click.Group = cli, before: tuple[str, ...] = ()
) -> list[tuple[tuple[str, ...], click.Command]]:
    found = []
    for name, command in group.commands.items():
        found.append(((*before, name), command))
        if isinstance(command, click.Group):
            found += every_command(command, (*before, name))
    return found


COMMANDS = every_command()
# Every command that tells something, by what it needs.
READING = (
    ("status",),
    ("lanes",),
    ("fetch",),
    ("apply",),
    ("check",),
    ("refresh",),
    ("rebase", "--onto", "1.3.0"),
    ("run",),
    ("report",),
)


@pytest.mark.parametrize(("words", "command"), COMMANDS, ids=[" ".join(words) for words, _ in COMMANDS])
@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_every_command_has_help_that_names_all_its_options(flag, words, command):
    ended = invoke(*words, flag)
    assert (ended.code, ended.err) == (0, "")
    assert f"Usage: launchguard {' '.join(words)}" in ended.out
    shown = " ".join(re.sub(r"[│╭╮╰╯─]", " ", ended.out).split())
    summary = command.help.split(".")[0].split(";")[0].replace("`", "").replace("*", "")
    assert " ".join(summary.split()) in shown
    for option in command.params:
        assert isinstance(option, click.Argument) or option.help, f"{option.name} has no help"
        assert all(name in shown for name in option.opts if name.startswith("-"))


def test_all_commands_are_there():
    assert {words[0] for words, _ in COMMANDS} == {
        "fetch", "apply", "status", "edit", "refresh", "check", "rebase", "lanes", "run", "report", "lab", "clean",
    }  # fmt: skip


def test_the_program_itself_shows_help_in_groups(project):
    ended = launchguard("--help", project=project)
    assert (ended.code, ended.err) == (0, "")
    for text in ("The series", "Its tests", "The rest", "Exit codes: 0 good, 1 problems found, 2 could not tell"):
        assert text in ended.out
    assert invoke().out == invoke("--help").out
    assert invoke().code == 0


def test_the_version_is_the_packages():
    text = (Path(__file__).resolve().parents[1] / "pyproject.toml").read_text()
    assert tomllib.loads(text)["project"]["version"] == package.__version__
    ended = invoke("--version")
    assert (ended.code, ended.err) == (0, "")
    assert package.__version__ in ended.out


@pytest.mark.parametrize("words", READING, ids=" ".join)
def test_json_is_all_that_stands_on_stdout(words, project):
    add_series(project, ONE)
    add_track(project, "1.3.0")
    invoke("-t", TRACK, "run" if words == ("report",) else "apply", project=project)
    ended = invoke("-t", TRACK, *words, "--json", project=project)
    assert json.loads(ended.out)
    assert ended.code == (2 if words[0] in {"run", "report"} else 0)


def test_the_exit_code_reaches_the_shell(project):
    assert launchguard("-t", "9", "status", project=project).code == 1


def test_what_cannot_be_told_ends_with_2(project):
    add_series(project, NO_TESTS)
    ended = invoke("run", project=project)
    assert ended.code == 2
    assert "head series: not run: lane head has no lock" in ended.out
    assert invoke("report", project=project).code == 2


def test_the_unexpected_ends_with_3_and_a_report(project):
    ended = subprocess.run(
        [sys.executable, "-c", BROKEN, "status"],
        capture_output=True,
        check=False,
        env=launchguard_environment(project),
        text=True,
    )
    log = project.logs / "unexpected-error.log"
    assert (ended.returncode, ended.stdout) == (3, "")
    assert ended.stderr == f"unexpected error: ZeroDivisionError: division by zero\nthe report to send: {log}\n"
    assert "Traceback" in log.read_text()


def no_project(project: Project) -> None:
    (project.track_folder(TRACK) / "track.toml").unlink()


def broken_track(project: Project) -> None:
    edit_track(project, "name = ", "name == ")


def fine(project: Project) -> None:
    add_series(project, ONE)


@pytest.mark.parametrize(
    ("prepare", "words", "told"),
    [
        (no_project, ("status",), "no patches/*/track.toml here"),
        (no_project, ("clean",), "no patches/*/track.toml here"),
        (broken_track, ("status",), "track.toml: "),
        (broken_track, ("lanes",), "track.toml: "),
        (fine, ("-t", "9", "status"), "there is no track '9'; tracks here: 1.2.0"),
        (fine, ("-t", "9", "fetch"), "there is no track '9'"),
        (fine, ("-t", "../1.2.0", "fetch"), "there is no track '../1.2.0'"),
        (fine, ("apply", "--until", "none"), "the series has no patch 'none'; it has: one"),
        (fine, ("edit", "none"), "the series has no patch 'none'"),
        (fine, ("rebase", "--onto", "9"), "there is no track '9'"),
        (fine, ("run", "--lane", "tail"), "track 1.2.0 has no lane 'tail'; it has head"),
        (fine, ("run", "--suite", "none"), "there is no suite 'none'"),
        (fine, ("lanes", "lock", "tail"), "track 1.2.0 has no lane 'tail'"),
        (fine, ("lanes", "lock"), "there is no head.in"),
        (fine, ("report",), "there is no report yet; make one with `launchguard run`"),
        (fine, ("report", "--json"), "there is no report yet"),
    ],
)
def test_an_expected_error_is_one_line_and_ends_with_1(prepare, words, told, project):
    prepare(project)
    ended = invoke(*words, project=project)
    assert (ended.code, ended.out) == (1, "")
    assert ended.err.startswith("error: ")
    assert told in ended.err
    assert ended.err.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("nonsense",), "No such command 'nonsense'."),
        (("status", "--nonsense"), "--nonsense"),
        (("apply", "--until"), "Option '--until' requires an argument."),
        (("fetch", "--source", "tape"), "'tape' is not one of 'sdist', 'git'"),
        (("rebase",), "Missing option '--onto'."),
        (("run", "-j", "0"), "0 is not in the range"),
    ],
)
def test_a_usage_error_ends_with_1(words, told, project):
    ended = invoke(*words, project=project)
    assert ended.code == 1
    assert told in ended.err
    assert "Traceback" not in ended.err


def test_the_newest_track_is_the_one_to_work_on(project, monkeypatch):
    add_track(project, "1.10.0")
    assert invoke("status", project=project).out.startswith("track 1.10.0: ")
    assert invoke("-t", TRACK, "status", project=project).out.startswith("track 1.2.0: ")
    monkeypatch.setenv("LAUNCHGUARD_TRACK", TRACK)
    assert invoke("status", project=project).out.startswith("track 1.2.0: ")


def test_lanes_are_listed_with_their_locks(project):
    ended = invoke("lanes", project=project)
    heading, row = ended.out.splitlines()
    assert heading.split()[:3] == ["lane", "python", "airflow"]
    assert row.split()[0] == "head"
    assert row.split()[-1] == "none"
    lock = project.track_folder(TRACK) / "lanes/head.txt"
    lock.parent.mkdir()
    lock.touch()
    assert invoke("lanes", project=project).out.splitlines()[1].split()[-1] == "locked"
    (told,) = json.loads(invoke("lanes", "--json", project=project).out)["lanes"]
    assert (told["lane"], told["patched"], told["locked"]) == ("head", ["core", "task-sdk", "provider"], True)


def test_it_works_from_a_folder_inside_the_project(project, monkeypatch):
    monkeypatch.chdir(project.track_folder(TRACK))
    assert invoke("status").out.startswith(f"track {TRACK}: ")


def test_it_works_from_inside_the_tree_and_leaves_nothing_there(project):
    tree = make_tree(project)
    ended = launchguard("status", cwd=tree.git.folder)
    assert ended.code == 0
    assert ended.out.splitlines()[-1].startswith(f"{tree.git.folder}: 0 of 0 patches applied")
    assert tree.git.changes() == []


def test_the_build_folder_can_be_elsewhere(project, tmp_path, monkeypatch):
    (project.build).rename(tmp_path / "elsewhere")
    monkeypatch.setenv("LAUNCHGUARD_BUILD", str(tmp_path / "elsewhere"))
    assert invoke("fetch", project=project).code == 0
    assert (tmp_path / "elsewhere/trees" / TRACK).is_dir()
    assert not (project.root / "build").exists()


def test_no_colour_where_there_is_no_terminal(project, monkeypatch):
    monkeypatch.delenv("NO_COLOR")
    add_series(project, ONE)
    for words in (("status",), ("--help",), ("lanes",)):
        assert "\x1b" not in invoke(*words, project=project).out
