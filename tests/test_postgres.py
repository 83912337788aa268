"""A server that is really there, and really gone afterwards."""

from __future__ import annotations

import os
from pathlib import Path

from launchguard.postgres import URL_VARIABLE, postgres_server


def test_an_embedded_server_answers_and_leaves_nothing_behind():
    with postgres_server() as url:
        assert url.startswith("postgresql://")
        folder = Path(url.rpartition("host=")[2])
        pid = int((folder / "postmaster.pid").read_text().split()[0])
        assert Path(f"/proc/{pid}").exists()
    assert not folder.exists()
    process = Path(f"/proc/{pid}/stat")
    assert not process.exists() or process.read_text().rpartition(") ")[2].startswith("Z")


def test_a_named_server_is_taken_as_it_is(monkeypatch):
    monkeypatch.setenv(URL_VARIABLE, "postgresql://me@db.example/postgres")
    with postgres_server() as url:
        assert url == os.environ[URL_VARIABLE]
