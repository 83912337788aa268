"""The real thing on one lane: pinned sdists, the series, Airflow's own pytest; minutes, not seconds."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from launchguard.series import read_series

ROOT = Path(__file__).resolve().parents[1]
pytestmark = [pytest.mark.airflow, pytest.mark.network, pytest.mark.timeout(1500)]


def environment_in(build):
    """Give the machine's own environment, with a build folder that is kept, apart from what a person does in build/."""
    return os.environ | {"LAUNCHGUARD_ROOT": str(ROOT), "LAUNCHGUARD_BUILD": str(build)}


def launchguard(environment, *words):
    command = [sys.executable, "-m", "launchguard", *words]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_new_test_passes_on_the_patched_lane_and_fails_on_the_released_one():
    build = ROOT / "build" / "test"
    environment = environment_in(build)
    ended = launchguard(environment, "run", "--lane", "head", "--suite", "series", "--json")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (row,) = json.loads(ended.stdout)["rows"]
    assert row["failed"] == 0
    assert row["passed"] > 0
    results = json.loads((build / "report/results.json").read_bytes())
    (verdict,) = results["verdicts"]
    assert verdict["proving"]
    assert verdict["proving_nothing"] == []
    assert results["series"] == read_series(ROOT / "patches/3.3.0")


def test_ctrl_c_stops_the_workers_and_leaves_a_partial_report():
    build = ROOT / "build" / "test-interrupted"
    environment = environment_in(build)
    command = [
        sys.executable,
        "-m",
        "launchguard",
        "run",
        "-l",
        "head",
        "-s",
        "provider",  # takes minutes: there is time to interrupt it, however busy the machine
        "--no-baseline",
        "--rerun",
        "-j",
        "1",
    ]
    with subprocess.Popen(command, env=environment, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if line.rstrip().endswith(" %"):  # some tests are done, others are not
                break
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        assert process.wait(60) == 130, rest
    results = json.loads((build / "report/results.json").read_bytes())
    assert results["interrupted"] is True
    (verdict,) = results["verdicts"]
    assert verdict["run"]["complete"] is False
    assert 0 < len(verdict["run"]["tests"]) < 1149
    assert not children_of(build / "venvs/3.3.0-head-patched")


def children_of(venv):
    """List processes of an environment that are still there; they get a moment to go."""
    for _ in range(50):
        running = []
        for folder in Path("/proc").iterdir():
            if folder.name.isdigit():
                try:
                    command = (folder / "cmdline").read_bytes()
                except OSError:
                    continue
                if os.fsencode(venv) in command:
                    running.append(command)
        if not running:
            return []
        time.sleep(0.1)
    return running
