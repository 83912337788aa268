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

ROOT = Path(__file__).resolve().parents[1]
pytestmark = [pytest.mark.airflow, pytest.mark.network, pytest.mark.timeout(1500), pytest.mark.xdist_group("head")]


# Kept between runs, apart from what a person does in build/.
BUILD = ROOT / "build" / "test"


@pytest.fixture
def environment():
    return os.environ | {"LAUNCHGUARD_ROOT": str(ROOT), "LAUNCHGUARD_BUILD": str(BUILD)}


def launchguard(environment, *words):
    command = [sys.executable, "-m", "launchguard", *words]
    return subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_new_test_passes_on_the_patched_lane_and_fails_on_the_released_one(environment):
    ended = launchguard(environment, "run", "--lane", "head", "--suite", "series", "--json")
    assert ended.returncode == 0, ended.stdout + ended.stderr
    (row,) = json.loads(ended.stdout)["rows"]
    assert row["failed"] == 0
    assert row["passed"] > 0
    results = json.loads((BUILD / "report/results.json").read_bytes())
    (verdict,) = results["verdicts"]
    assert verdict["proving"]
    assert verdict["proving_nothing"] == []
    assert results["series"] == [line for line in (ROOT / "patches/3.3.0/series").read_text().splitlines() if line]


def test_ctrl_c_stops_the_workers_and_leaves_a_partial_report(environment):
    command = [
        sys.executable,
        "-m",
        "launchguard",
        "run",
        "-l",
        "head",
        "-s",
        "executor",
        "--no-baseline",
        "--rerun",
        "-j",
        "1",
    ]
    with subprocess.Popen(command, env=environment, cwd=ROOT, stderr=subprocess.PIPE, text=True) as process:
        for line in process.stderr:
            if "25 %" in line or "50 %" in line:
                break
        process.send_signal(signal.SIGINT)
        process.stderr.read()
        assert process.wait(60) == 130
    results = json.loads((BUILD / "report/results.json").read_bytes())
    assert results["interrupted"] is True
    (verdict,) = results["verdicts"]
    assert verdict["run"]["complete"] is False
    assert 0 < len(verdict["run"]["tests"]) < 143
    assert not children_of(BUILD / "venvs/3.3.0-head-patched")


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
