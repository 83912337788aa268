"""What the lab sees of its pods, and what it makes of what it cannot see."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from aiohttp import web
from lab_joined import Joined, joined_in

from launchguard.lab.cluster import observer
from launchguard.lab.cluster.api import Api
from launchguard.lab.cluster.home import Home
from launchguard.lab.cluster.observer import Observer
from launchguard.lab.history import History, read_history
from launchguard.lab.kube.shaping import WatchEvent

if TYPE_CHECKING:
    from pathlib import Path

Json = dict[str, Any]


def pod(version: int, phase: str = "Pending", state: Json | None = None, *, uid: str = "u1") -> Json:
    status: Json = {"phase": phase}
    if state is not None:
        status["containerStatuses"] = [{"name": "base", "state": state}]
    about = {"name": "one", "namespace": "a", "uid": uid, "resourceVersion": str(version)}
    return {"metadata": about, "status": status}


class Script:
    """An API that gives what a test wants: lists and watches, one after the other."""

    def __init__(self, lists: list[list[Json]], watches: list[list[Json] | int]) -> None:
        self.lists = lists
        self.watches = watches
        self.asked: list[str] = []
        self.done = asyncio.Event()

    async def answer(self, request: web.Request) -> web.StreamResponse:
        if "watch" not in request.query:
            return web.json_response({"metadata": {"resourceVersion": "100"}, "items": self.lists.pop(0)})
        self.asked.append(request.query["resourceVersion"])
        if not self.watches:
            self.done.set()
            await asyncio.sleep(60)
        events = self.watches.pop(0)
        if isinstance(events, int):
            return web.Response(status=events)
        return web.Response(body=b"".join(msgspec.json.encode(one) + b"\n" for one in events))


def observe(folder: Path, script: Script) -> list[Json]:
    """Have the lab look at what a script gives, until it has given all."""

    async def observed() -> None:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", script.answer)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        (folder / "api").unlink(missing_ok=True)
        await web.UnixSite(runner, str(folder / "api")).start()
        api = Api(folder / "api")
        with History(folder / "history.jsonl", "cluster") as history:
            watcher = Observer(api, Home("a", "b"), history, lambda _pod: None)
            await watcher.start()
            async with asyncio.timeout(20):
                await script.done.wait()
            await watcher.stop()
        await api.close()
        await runner.cleanup()

    asyncio.run(observed())
    return list(read_history(folder / "history.jsonl"))[1:]


@pytest.fixture
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("s")


def event(kind: str, obj: Json) -> Json:
    return {"type": kind, "object": obj}


def kinds(records: list[Json]) -> list[str]:
    return [one["kind"] for one in records]


RUNNING = {"running": {"startedAt": "2026-01-01T00:00:00Z"}}
ENDED = {"terminated": {"exitCode": 7, "startedAt": "2026-01-01T00:00:00Z", "reason": "Error"}}
NEVER = {"terminated": {"exitCode": 128, "startedAt": "1970-01-01T00:00:00Z", "reason": "StartError"}}


def test_a_life_is_told_once(short: Path) -> None:
    life = [
        event("ADDED", pod(101)),
        event("MODIFIED", pod(102, "Running", RUNNING)),
        event("MODIFIED", pod(102, "Running", RUNNING)),
        event("MODIFIED", pod(101)),
        event("MODIFIED", pod(103, "Failed", ENDED)),
        event("DELETED", pod(104, "Failed", ENDED)),
        event("MODIFIED", pod(105, "Running", RUNNING)),
    ]
    records = observe(short, Script([[]], [life]))
    assert [one["type"] for one in records if one["kind"] == "object"] == ["ADDED", "MODIFIED", "MODIFIED", "DELETED"]
    assert [one["after"] for one in records if one["kind"] == "pod.phase"] == ["Pending", "Running", "Failed"]
    assert kinds(records).count("process.start") == 1
    assert [one["exit_code"] for one in records if one["kind"] == "process.exit"] == [7]


@pytest.mark.parametrize(("state", "started"), [(ENDED, 1), (NEVER, 0)])
def test_a_container_that_was_never_seen_to_run(short: Path, state: Json, started: int) -> None:
    records = observe(short, Script([[]], [[event("ADDED", pod(101, "Failed", state))]]))
    assert kinds(records).count("process.start") == started
    assert kinds(records).count("process.exit") == 1


def test_a_watch_that_ends_goes_on_where_it_was(short: Path) -> None:
    script = Script([[pod(99)]], [[event("ADDED", pod(101))], [event("BOOKMARK", pod(120))], [{"no": "event"}]])
    observe(short, script)
    assert script.asked == ["100", "101", "120", "120"]


@pytest.mark.parametrize("gone", [410, [{"type": "ERROR", "object": {"code": 410}}]])
def test_a_pod_that_went_unseen_leaves_no_verdict(short: Path, gone: Any) -> None:
    records = observe(short, Script([[pod(99, "Running", RUNNING)], []], [gone]))
    (bug,) = [one for one in records if one["kind"] == "bug"]
    assert bug["error"] == "pod one went while the lab could not look"
    assert records[-1]["type"] == "DELETED"


def test_a_pod_that_had_ended_may_go_unseen(short: Path) -> None:
    records = observe(short, Script([[pod(99, "Succeeded", ENDED)], []], [410]))
    assert "bug" not in kinds(records)


def test_a_cluster_that_fails_is_asked_again(short: Path) -> None:
    records = observe(short, Script([[]], [500, [event("ADDED", pod(101))]]))
    assert kinds(records) == ["object", "pod.phase"]


def test_a_cluster_that_stays_away_leaves_no_verdict(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(observer, "_PAUSE", 0.0)
    now_and_then: list[list[Json] | int] = [*[500] * 9, [], *[500] * 9]
    assert "bug" not in kinds(observe(short, Script([[]], now_and_then)))
    (bug,) = [one for one in observe(short, Script([[]], [500] * 10)) if one["kind"] == "bug"]
    assert bug["error"].startswith("the cluster was not reached 10 times in a row")


def test_what_others_watch_is_overheard_but_no_end_of_it(tmp_path: Path) -> None:
    with joined_in(tmp_path) as both:
        watcher, labels = both.near.cluster.observer, both.near.cluster.home.labels

        def hear(kind: str, one: Json, labels: Json) -> list[str]:
            one["metadata"]["labels"] = labels
            both.near.call(lambda: watcher.overhear(WatchEvent(kind, one)))
            return list(both.near.phases())

        assert hear("ADDED", pod(101), {}) == []
        assert hear("ADDED", {"metadata": pod(101)["metadata"]}, labels) == []
        assert hear("ADDED", pod(101), labels) == ["Pending"]
        assert hear("DELETED", pod(102), labels) == ["Pending"]
        assert hear("MODIFIED", pod(103, "Running"), labels) == ["Running"]


def test_losing_sight_leaves_no_verdict(tmp_path: Path) -> None:
    with joined_in(tmp_path) as both:
        fail(both)
        both.create("one")
        both.until(both.bugs)
        assert "the lab lost sight of its pods" in both.bugs()[0]


def fail(both: Joined) -> None:
    """Have the lab's look at a pod's state fail, as by a mistake in it."""

    def broken(_pod: Json) -> None:
        raise ZeroDivisionError

    both.near.cluster.observer._seen = broken
    # The relay tells of a creation, too, and is not what fails here.
    deaf = {"take": lambda *_: None, "known": lambda _self, one: one}
    both.near.cluster.relay._observer = type("Deaf", (), deaf)()
