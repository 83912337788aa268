"""The short set of scenarios on real Airflow, before and after."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.airflow
@pytest.mark.network
@pytest.mark.timeout(1500)
def test_the_short_set_breaks_before_and_not_after() -> None:
    # A build folder of its own: what a person has in build/lab stays.
    environment = os.environ | {"LAUNCHGUARD_ROOT": str(ROOT), "LAUNCHGUARD_BUILD": str(ROOT / "build/test-lab")}
    command = [sys.executable, "-m", "launchguard", "lab", "run", "--short", "--json"]
    ended = subprocess.run(command, env=environment, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    entries = json.loads(ended.stdout)["report"]["entries"]
    assert [(one["scenario"], one["side"], one["outcome"]) for one in entries] == [
        ("quota-clear", "released", "reproduced"),
        ("quota-clear", "patched", "holds"),
        ("waiting-pod-cleared", "released", "reproduced"),
        ("waiting-pod-cleared", "patched", "holds"),
    ]
