"""The docs tell what the runs show."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
from skew_installs import PATCHED, PROVIDER_ONLY, RELEASED, SDK_1_2
from skew_table import as_markdown, read_combinations

DOCS = Path(__file__).resolve().parents[2] / "docs" / "skew.md"


def test_the_docs_have_the_table_that_the_runs_check() -> None:
    assert as_markdown() in DOCS.read_text(encoding="utf-8")


def test_no_combination_is_left_out() -> None:
    parts = [(one.scheduler, one.api_server, one.worker) for one in read_combinations()]
    assert sorted(parts) == sorted(
        [
            *product((RELEASED, PATCHED), repeat=3),
            (PROVIDER_ONLY, RELEASED, RELEASED),
            (PATCHED, PATCHED, SDK_1_2),
        ]
    )


@pytest.mark.parametrize("which", ["cleared", "marked"])
def test_the_whole_series_ends_superseded_launches_quietly(which: str) -> None:
    patched = [one for one in read_combinations() if {one.scheduler, one.api_server, one.worker} == {PATCHED}]
    assert [getattr(one, which).exits for one in patched] == [0]
