"""The real programs of `just bench` on a small database: what they count, whatever the time they take."""

from __future__ import annotations

import os
from pathlib import Path

import bench.sync_pods
import pytest
from bench.ground import ground
from bench.run_requests import Answer, run_requests
from bench.sync_pods import sync_pods

ROOT = Path(__file__).resolve().parents[1]
pytestmark = [pytest.mark.airflow, pytest.mark.network, pytest.mark.timeout(1500)]


@pytest.fixture(scope="module")
def small():
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("LAUNCHGUARD_ROOT", str(ROOT))
        patch.setenv("LAUNCHGUARD_BUILD", os.fspath(ROOT / "build" / "test-bench"))
        with ground(20_000) as standing:
            yield standing


def test_run_sends_no_more_statements_than_the_released_one(small):
    (row,) = run_requests(small, 1)
    assert row.first.side == "patched"
    assert row.first.statements == row.second.statements
    assert row.first.statements != (0, 0)
    assert row.first.measurements == row.second.measurements == 50


def test_only_the_patched_worker_presents_its_token(small):
    sent = {}
    for side in ("patched", "released"):
        with small.program("run_requests", side) as running:
            sent[side] = running.ask(Answer, ids=small.database.queued(9000 + len(sent), 1)).fields
    assert set(sent["patched"]) - set(sent["released"]) == {"external_executor_id", "try_number"}


@pytest.mark.parametrize("batch", [1, 16])
def test_sync_sends_one_statement_for_a_batch(small, batch, monkeypatch):
    monkeypatch.setattr(bench.sync_pods, "ROUNDS", {batch: 1})
    released, preflight = sync_pods(0.0, small, 1)
    assert released.first.statements == (1, 1)
    assert released.second.statements == (0, 0)
    assert preflight.second.statements == (batch, batch)
