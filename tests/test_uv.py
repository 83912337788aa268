from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING

import pytest

from launchguard.errors import LaunchguardError
from launchguard.process import CommandError
from launchguard.uv import tool_command, uv, uv_environment, uv_program

if TYPE_CHECKING:
    from pathlib import Path

UV = '#!/bin/sh\necho "$0 $*"\nexit ${UV_CODE:-0}\n'


@pytest.fixture(autouse=True)
def _alone(tmp_path, monkeypatch):
    (tmp_path / "bin").mkdir()
    monkeypatch.setenv("PATH", str(tmp_path / "bin"))
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "build/venv"))


def program(path: Path) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(UV)
    path.chmod(0o755)
    return path


def test_the_named_one_comes_first_then_path_then_what_justw_brought(tmp_path, monkeypatch):
    brought = program(tmp_path / "build/bootstrap/bin/uv")
    assert uv_program() == str(brought)
    on_path = program(tmp_path / "bin/uv")
    assert uv_program() == str(on_path)
    monkeypatch.setenv("LAUNCHGUARD_UV", "/named/uv")
    assert uv_program() == "/named/uv"


def test_none_at_all_says_what_to_do():
    with pytest.raises(LaunchguardError, match=r"no uv here; start launchguard through \./justw"):
        uv_program()


def test_a_command_is_run_and_its_failure_shown(tmp_path, monkeypatch):
    path = program(tmp_path / "bin/uv")
    assert uv("pip", "list").text == f"{path} pip list\n"
    monkeypatch.setenv("UV_CODE", "3")
    assert uv("pip", "list", check=False).code == 3
    with pytest.raises(CommandError, match="command failed with code 3"):
        uv("pip", "list")


def test_uv_is_told_of_pips_index(monkeypatch):
    monkeypatch.setenv("PIP_INDEX_URL", "https://mirror/simple")
    assert uv_environment()["UV_DEFAULT_INDEX"] == "https://mirror/simple"


@pytest.mark.parametrize("name", ["UV_DEFAULT_INDEX", "UV_INDEX_URL"])
def test_uvs_own_variables_stay_as_they_are(name, monkeypatch):
    monkeypatch.setenv(name, "mirror=https://mirror/simple")
    told = {key: value for key, value in uv_environment().items() if "INDEX" in key}
    assert told == {name: "mirror=https://mirror/simple"}


def test_another_environment_does_not_reach_uv(monkeypatch):
    monkeypatch.setenv("VIRTUAL_ENV", "/somewhere")
    monkeypatch.setenv("PYTHONPATH", "/somewhere")
    monkeypatch.setenv("UV_SYSTEM_CERTS", "0")
    told = uv_environment()
    assert not {"VIRTUAL_ENV", "PYTHONPATH"} & set(told)
    assert told["UV_SYSTEM_CERTS"] == "0"
    assert told["PATH"] == os.environ["PATH"]


@pytest.mark.parametrize("name", ["ruff", "mypy"])
def test_a_linter_is_the_named_one_else_the_one_of_the_day(name, tmp_path, monkeypatch):
    variable = f"LAUNCHGUARD_{name.upper()}"
    monkeypatch.setenv(variable, f"/named/{name}")
    assert tool_command(name, "2026-07-20") == (f"/named/{name}",)
    monkeypatch.delenv(variable)
    path = program(tmp_path / "bin/uv")
    assert " ".join(tool_command(name, "2026-07-20")) == f"{path} tool run --quiet --exclude-newer 2026-07-20 {name}"
