"""The checker: each invariant has a history that breaks it and one that does not; what is not whole is no verdict."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lab_histories import Story, cleared_while_held, plain

from launchguard.lab import checker
from launchguard.lab.checker import Verdict, judge, read_evidence
from launchguard.lab.invariants import INVARIANTS
from launchguard.lab.pressure import count

if TYPE_CHECKING:
    from collections.abc import Callable


def broken(story: Story, **end: float) -> set[str]:
    judged = judge(story.end(**end))
    assert not judged.doubts
    assert judged.verdict is (Verdict.BROKEN if judged.findings else Verdict.HOLDS)
    return judged.broken()


def test_a_run_that_goes_well_holds() -> None:
    assert judge(plain(Story()).end()).verdict is Verdict.HOLDS


def test_a_failed_pod_of_a_cleared_launch() -> None:
    judged = judge(cleared_while_held(Story()).end())
    assert judged.broken() == {"no-superseded-failure"}
    assert "pod pod-old of launch work#1, over as cleared, failed: /run 404, exit 1" in judged.findings[0].text


def test_an_old_pod_may_start_but_must_not_fail() -> None:
    assert broken(cleared_while_held(Story(), code=409, exit_code=0)) == set()


def test_an_expired_jwt_is_shown_but_does_not_count() -> None:
    judged = judge(cleared_while_held(Story(), code=403).end())
    assert judged.verdict is Verdict.HOLDS
    assert [one.invariant for one in judged.excused] == ["no-superseded-failure"]
    assert "403" in judged.excused[0].excused


def test_an_old_pod_that_was_deleted_has_not_failed() -> None:
    story = cleared_while_held(Story())
    story.add(10.5, "cluster", "process.signal", pod="pod-old", signal="SIGTERM")
    assert broken(story) == set()


def test_a_pod_that_fails_while_its_launch_is_current_breaks_nothing_by_itself() -> None:
    story = Story()
    story.queue(1)
    story.pod(1, "pod-a")
    story.ends(2, "pod-a", 1)
    story.deed(3, "mark")
    story.row(3, "queued>success", who="api-server")
    assert broken(story) == set()


def test_user_code_that_runs_twice() -> None:
    story = plain(Story())
    story.pod(2, "pod-b", exists=True, issued=1)
    story.user_code(8, "pod-b", until=9)
    story.ends(9, "pod-b")
    assert broken(story) == {"user-code-once", "one-pod-per-launch"}


def test_user_code_of_both_sides_of_a_deferral_is_no_repetition() -> None:
    assert broken(deferral()) == set()


def deferral() -> Story:
    story = Story()
    story.queue(1)
    story.pod(1, "pod-a")
    story.run(3, "pod-a")
    story.row(3, "queued>running", who="api-server", hostname="pod-a")
    story.user_code(3, "pod-a", until=4)
    story.row(4, "running>deferred", who="api-server", hostname="pod-a")
    story.ends(5, "pod-a")
    story.row(8, "deferred>scheduled", who="triggerer")
    story.queue(9)
    story.pod(9.5, "pod-b")
    story.run(12, "pod-b")
    story.row(12, "queued>running", who="api-server", hostname="pod-b")
    story.user_code(12, "pod-b", part="resume", until=13)
    story.row(14, "running>success", who="api-server", hostname="pod-b")
    story.ends(15, "pod-b")
    return story


def test_user_code_of_an_old_launch_of_the_same_try() -> None:
    story = Story()
    story.queue(1)
    story.row(10, "queued>scheduled")
    story.queue(12)
    story.pod(13, "pod-old", issued=1)
    story.run(15, "pod-old")
    story.row(15, "queued>running", who="api-server", hostname="pod-old")
    story.user_code(15, "pod-old", until=16)
    story.row(17, "running>success", who="api-server", hostname="pod-old")
    story.ends(18, "pod-old")
    assert broken(story) == {"no-superseded-code"}


def test_user_code_that_begins_after_its_launch_was_over() -> None:
    story = Story()
    story.queue(1)
    story.pod(1, "pod-a")
    story.deed(2, "mark")
    story.row(2, "queued>success", who="api-server")
    story.user_code(5, "pod-a", until=6)
    story.ends(7, "pod-a")
    assert broken(story) == {"no-superseded-code"}


@pytest.mark.parametrize("change", ["queued>up_for_retry", "queued>failed"])
def test_a_try_that_fails_and_never_ran(change: str) -> None:
    story = Story()
    story.queue(1)
    story.row(5, change)
    story.row(6, f"{change.partition('>')[2]}>success", ti="ti-2", old_ti="ti-1")
    assert "no-retry-burnt" in broken(story)


def test_a_worker_that_was_taken_away_before_its_user_code_is_shown_but_does_not_count() -> None:
    story = Story()
    story.queue(1)
    story.pod(1, "pod-a")
    story.starts(2, "pod-a")
    story.add(3, "cluster", "process.signal", pod="pod-a", signal="SIGTERM")
    story.ends(4, "pod-a", 143)
    story.row(5, "queued>up_for_retry", ti="ti-2", old_ti="ti-1")
    plain(story, "pod-b", at=10, ti="ti-2", **{"try": 2})
    judged = judge(story.end())
    assert judged.verdict is Verdict.HOLDS
    assert [one.invariant for one in judged.excused] == ["no-retry-burnt"]


@pytest.mark.parametrize(("between", "burnt"), [("restarting", 0), ("running", 1)])
def test_a_try_that_its_user_cleared_before_its_user_code_is_shown_but_does_not_count(between: str, burnt: int) -> None:
    story = Story()
    story.queue(1)
    story.pod(1, "pod-a")
    story.starts(2, "pod-a")
    story.run(3, "pod-a")
    story.row(3, "queued>running", who="api-server", hostname="pod-a")
    story.deed(4, "clear")
    story.row(4, f"running>{between}", ti="ti-2", old_ti="ti-1", who="api-server")
    story.ends(5, "pod-a")
    story.row(6, f"{between}>up_for_retry", ti="ti-2")
    plain(story, "pod-b", at=10, ti="ti-2", **{"try": 2})
    records = story.end()
    assert len(judge(records).excused) == 1 - burnt
    assert count(read_evidence(records)).retries_burnt == burnt


def test_a_worker_that_a_scheduler_deleted_burns_a_retry() -> None:
    story = Story()
    story.queue(1)
    story.pod(1, "pod-a")
    story.starts(2, "pod-a")
    story.add(3, "cluster", "api.request", req=99, verb="delete", resource="pods", name="pod-a", user="scheduler-a")
    story.add(3, "cluster", "process.signal", pod="pod-a", signal="SIGTERM")
    story.ends(4, "pod-a", 143)
    story.row(5, "queued>up_for_retry", ti="ti-2", old_ti="ti-1")
    plain(story, "pod-b", at=10, ti="ti-2", **{"try": 2})
    assert broken(story) == {"no-retry-burnt"}


def test_a_task_that_its_user_marks_failed_burns_no_retry() -> None:
    story = Story()
    story.queue(1)
    story.deed(4, "mark")
    story.row(5, "queued>failed", who="api-server")
    assert broken(story) == set()


def test_a_retry_after_user_code_is_none_of_ours() -> None:
    story = Story()
    story.queue(1)
    story.pod(1, "pod-a")
    story.row(3, "queued>running", who="api-server", hostname="pod-a")
    story.user_code(3, "pod-a", until=4)
    story.row(5, "running>up_for_retry", ti="ti-2", old_ti="ti-1", who="api-server")
    story.ends(6, "pod-a", 1)
    plain(story, "pod-b", at=10, ti="ti-2", **{"try": 2})
    assert broken(story) == set()


def test_a_running_try_that_a_scheduler_ends() -> None:
    story = Story()
    story.queue(1)
    story.pod(1, "pod-a")
    story.row(3, "queued>running", who="api-server", hostname="pod-a")
    story.user_code(3, "pod-a", until=20)
    story.row(10, "running>failed", who="scheduler-b")
    story.ends(21, "pod-a")
    assert broken(story) == {"live-launch-untouched"}


def test_a_scheduler_may_end_a_try_whose_worker_is_gone() -> None:
    story = Story()
    story.queue(1)
    story.pod(1, "pod-a")
    story.row(3, "queued>running", who="api-server", hostname="pod-a")
    story.user_code(3, "pod-a")
    story.ends(6, "pod-a", 137)
    story.row(10, "running>failed", who="scheduler-b")
    assert broken(story) == set()


def test_two_pods_of_one_launch() -> None:
    story = plain(Story())
    story.pod(2, "pod-b", issued=1, code=500, exists=True)
    story.run(8, "pod-b", 409, reason="invalid_state")
    story.ends(8.5, "pod-b", 1)
    assert broken(story) == {"one-pod-per-launch"}


def test_a_pod_after_the_end_of_the_first_one_is_a_requeue() -> None:
    story = Story()
    story.queue(1)
    story.pod(1, "pod-lost")
    story.object(2, "DELETED", "pod-lost")
    story.pod(3, "pod-a", issued=1)
    story.row(5, "queued>running", who="api-server", hostname="pod-a")
    story.user_code(5, "pod-a", until=6)
    story.row(7, "running>success", who="api-server", hostname="pod-a")
    story.ends(8, "pod-a")
    assert broken(story) == set()


@pytest.mark.parametrize("state", ["queued", "running", "scheduled", ""])
def test_a_task_that_never_comes_to_its_end(state: str) -> None:
    story = Story()
    story.queue(1)
    story.row(2, f"queued>{state}") if state != "queued" else None
    assert broken(story) == {"no-task-stuck"}


def test_a_try_that_ends_twice() -> None:
    story = plain(Story())
    story.row(20, "success>failed", who="scheduler-b")
    assert broken(story) == {"ends-once"}


def test_tokens_tell_launches_apart_that_began_in_one_second() -> None:
    story = Story()
    for n, token in enumerate(("one", "two")):
        story.queue(1 + n / 10, token=token)
        story.row(1.05 + n / 10, "queued>scheduled", token=token)
    story.pod(1.3, "pod-1", token="one", code=403)
    story.pod(1.3, "pod-2", token="two", code=403)
    evidence = read_evidence(story.end())
    assert [pod.launch for pod in evidence.pods] == ["work#1", "work#2"]


def test_every_invariant_is_broken_by_some_test_here() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    assert [one.name for one in INVARIANTS if f'"{one.name}"' not in text] == []


def test_a_scenario_can_excuse_an_invariant_and_the_reason_is_kept() -> None:
    judged = judge(cleared_while_held(Story()).end(), {"no-superseded-failure": "as meant"})
    assert judged.verdict is Verdict.HOLDS
    assert [one.excused for one in judged.excused] == ["as meant"]


# What is not whole


def spoilt(change: Callable[[Story], object]) -> tuple[Verdict, str]:
    story = plain(Story())
    records = change(story)
    judged = judge(records if isinstance(records, list) else story.end())
    return judged.verdict, "; ".join(judged.doubts)


def lose(kind: str) -> Callable[[Story], object]:
    def change(story: Story) -> object:
        records = story.end()
        records.remove(next(one for one in records if one["kind"] == kind))
        return records

    return change


@pytest.mark.parametrize(
    ("change", "doubt"),
    [
        (lose("scenario.end"), "0 records scenario.end"),
        (lose("ti.rows-end"), "0 records ti.rows-end"),
        (lose("ti.row"), "row changes"),
        (lose("api.answer"), "records of cluster are missing"),
        (lose("user.begin"), "its user code left no trace"),
        (lambda story: story.add(3, "cluster", "bug", error="it broke"), "the stand-in failed: it broke"),
        (lambda story: story.end(trouble="no such task"), "not played to its end: no such task"),
        (lambda story: story.pod(2, "pod-x", ti="ti-9"), "pod pod-x fits no launch"),
        (lambda story: story.pod(2, "pod-x"), "pod-x of work had not come to its end"),
        (lambda story: story.records.append({"kind": "nonsense"}), "the checker failed"),
    ],
)
def test_what_is_not_whole_is_no_verdict(change: Callable[[Story], object], doubt: str) -> None:
    verdict, doubts = spoilt(change)
    assert verdict is Verdict.CANNOT_TELL
    assert doubt in doubts


def test_a_fault_that_never_struck_shows_nothing() -> None:
    assert "'quota', which the scenario is about, never struck" in judge(plain(Story(("quota",))).end()).doubts[0]
    assert judge(cleared_while_held(Story(("quota",))).end()).verdict is Verdict.BROKEN


def test_a_checker_that_throws_has_no_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    def throws(_evidence: object) -> list[object]:
        raise ZeroDivisionError

    one = dataclasses.replace(INVARIANTS[0], look=throws)  # type: ignore[arg-type]
    monkeypatch.setattr(checker, "INVARIANTS", (one,))
    judged = judge(plain(Story()).end())
    assert judged.verdict is Verdict.CANNOT_TELL
    assert "ZeroDivisionError" in judged.doubts[0]
