"""What a verdict counts for, and what the whole campaign ends with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from launchguard.errors import Exit
from launchguard.lab.checker import Judgement, Verdict
from launchguard.lab.invariants import Finding
from launchguard.lab.outcome import Outcome, Side, exit_code, outcome_of, rules_of
from launchguard.lab.scenario import Scenario

if TYPE_CHECKING:
    from pathlib import Path

BREAKS = Scenario(title="", dag="solo", steps=(), needs=("R8",), released_breaks=("no-retry-burnt",))
HOLDS = Scenario(title="", dag="solo", steps=())
FREE = Scenario(title="", dag="solo", steps=(), released_may_break=True)
HELD = Judgement(Verdict.HOLDS)
UNTOLD = Judgement(Verdict.CANNOT_TELL, doubts=("a gap",))


def broke(invariant: str) -> Judgement:
    return Judgement(Verdict.BROKEN, (Finding(invariant, "work", 1, "it broke"),))


@pytest.mark.parametrize(
    ("scenario", "side", "judgement", "missing", "outcome"),
    [
        (BREAKS, Side.RELEASED, broke("no-retry-burnt"), (), Outcome.REPRODUCED),
        (BREAKS, Side.RELEASED, broke("ends-once"), (), Outcome.NOT_REPRODUCING),
        (BREAKS, Side.RELEASED, HELD, (), Outcome.NOT_REPRODUCING),
        (BREAKS, Side.RELEASED, UNTOLD, (), Outcome.CANNOT_TELL),
        (HOLDS, Side.RELEASED, HELD, (), Outcome.HOLDS),
        (HOLDS, Side.RELEASED, broke("ends-once"), (), Outcome.BROKEN),
        (FREE, Side.RELEASED, broke("ends-once"), (), Outcome.REPRODUCED),
        (FREE, Side.RELEASED, HELD, (), Outcome.HOLDS),
        (FREE, Side.RELEASED, UNTOLD, (), Outcome.CANNOT_TELL),
        (FREE, Side.PATCHED, broke("ends-once"), (), Outcome.BROKEN),
        (BREAKS, Side.NEWER, HELD, (), Outcome.HOLDS),
        (BREAKS, Side.NEWER, HELD, ("R8",), Outcome.HOLDS),
        (BREAKS, Side.NEWER, broke("ends-once"), (), Outcome.REPRODUCED),
        (BREAKS, Side.PATCHED, HELD, (), Outcome.HOLDS),
        (BREAKS, Side.PATCHED, broke("no-retry-burnt"), (), Outcome.BROKEN),
        (BREAKS, Side.PATCHED, UNTOLD, (), Outcome.CANNOT_TELL),
        (BREAKS, Side.PATCHED, HELD, ("R8",), Outcome.OPEN),
        (BREAKS, Side.PATCHED, broke("no-retry-burnt"), ("R8",), Outcome.OPEN),
        (BREAKS, Side.PATCHED, UNTOLD, ("R8",), Outcome.OPEN),
    ],
)
def test_outcomes(
    scenario: Scenario, side: Side, judgement: Judgement, missing: tuple[str, ...], outcome: Outcome
) -> None:
    assert outcome_of(scenario, side, judgement, missing) is outcome


@pytest.mark.parametrize(
    ("outcomes", "code"),
    [
        ([Outcome.REPRODUCED, Outcome.HOLDS, Outcome.OPEN], Exit.GOOD),
        ([Outcome.REPRODUCED, Outcome.BROKEN, Outcome.CANNOT_TELL], Exit.PROBLEMS),
        ([Outcome.NOT_REPRODUCING, Outcome.HOLDS], Exit.PROBLEMS),
        ([Outcome.REPRODUCED, Outcome.CANNOT_TELL], Exit.CANNOT_TELL),
        ([], Exit.CANNOT_TELL),
    ],
)
def test_exit_codes(outcomes: list[Outcome], code: Exit) -> None:
    assert exit_code(outcomes) is code


def test_the_rules_of_a_series_are_read_from_its_patches(tmp_path: Path) -> None:
    assert rules_of(tmp_path) == frozenset()
    for slug, rules in (("one", "R8 R9"), ("two", "R9 R13")):
        text = f"From 0 Mon Sep 17 00:00:00 2001\nFrom: a <a@b>\nSubject: {slug}\n\nWhy.\n\nRules: {rules}\n\n"
        (tmp_path / f"{slug}.patch").write_text(f"{text}diff --git a/x b/x\n")
    (tmp_path / "series").write_text("one\ntwo\n")
    assert rules_of(tmp_path) == {"R8", "R9", "R13"}
