"""Made-up histories: what a run would have left behind, a line at a time, in seconds."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass, field
from itertools import count
from typing import Any

Record = dict[str, Any]

SECOND = 1_000_000_000
WALL = "2026-01-01T00:00:00+00:00"
EPOCH = 1_767_225_600
RUN = "story"


def jwt(issued: float) -> str:
    claims = base64.urlsafe_b64encode(json.dumps({"iat": int(EPOCH + issued)}).encode()).decode().rstrip("=")
    return f"head.{claims}.signature"


@dataclass
class Story:
    """Collects records; `t` is in seconds after the scenario's begin."""

    must_strike: tuple[str, ...] = ()
    records: list[Record] = field(default_factory=list)
    numbers: dict[str, count[int]] = field(default_factory=dict)
    requests: count[int] = field(default_factory=lambda: count(1))
    rows: int = 0

    def __post_init__(self) -> None:
        self.add(0, "lab", "scenario.begin", run_id=RUN, wall=WALL, must_strike=list(self.must_strike))

    def add(self, t: float, src: str, kind: str, **fields: Any) -> None:
        seq = next(self.numbers.setdefault(src, count(1)))
        self.records.append({"t": int(t * SECOND), "src": src, "seq": seq, "kind": kind, **fields})

    def row(
        self, t: float, change: str, *, ti: str = "ti-1", old_ti: str = "", who: str = "scheduler-a", **more: Any
    ) -> None:
        """Change the row, as `scheduled>queued`; `more` may have task_id, try, token, hostname, op, map_index."""
        old, _, new = change.partition(">")
        base = {"task_id": "work", "map_index": -1, "try": 1, "token": None, "job": 1, "hostname": None, "op": "UPDATE"}
        about = {**base, "ti": ti, "old_ti": old_ti or ti, "old_state": old or None, "state": new or None, "who": who}
        self.rows += 1
        self.add(t, "lab", "ti.row", run_id=RUN, **{**about, **more})

    def queue(self, t: float, **more: Any) -> None:
        self.row(t, "scheduled>queued", **more)

    def pod(
        self, t: float, name: str, *, ti: str = "ti-1", issued: float | None = None, code: int = 201, **more: Any
    ) -> None:
        """Ask for a pod; `more` may have task_id, try_number, token, user, exists."""
        number = next(self.requests)
        about = {"id": ti, "task_id": more.get("task_id", "work"), "run_id": RUN, "map_index": -1}
        about["try_number"] = more.get("try_number", 1)
        workload = {"token": jwt(t if issued is None else issued), "ti": about}
        if more.get("token"):
            workload["launch_token"] = more["token"]
        body = {"metadata": {"name": name}, "spec": {"containers": [{"args": ["run", json.dumps(workload)]}]}}
        asked = {"verb": "create", "resource": "pods", "name": "", "user": more.get("user", "scheduler-a")}
        self.add(t, "cluster", "api.request", req=number, body=body, **asked)
        if more.get("exists", code < 300):
            self.object(t, "ADDED", name)
        self.add(t, "cluster", "api.answer", req=number, code=code)

    def object(self, t: float, kind: str, name: str, **more: Any) -> None:
        self.add(t, "cluster", "object", type=kind, resource="pods", object={"name": name, **more})

    def starts(self, t: float, pod: str) -> None:
        self.add(t, "cluster", "process.start", pod=pod, pid=7)

    def ends(self, t: float, pod: str, exit_code: int = 0) -> None:
        phase = "Failed" if exit_code else "Succeeded"
        self.add(t, "cluster", "process.exit", pod=pod, pid=7, exit_code=exit_code)
        self.add(t, "cluster", "pod.phase", object={"name": pod}, before="Running", after=phase)

    def run(self, t: float, pod: str, code: int | None = 200, *, ti: str = "ti-1", reason: str = "") -> None:
        self._call(t, "run", pod, code, ti=ti, reason=reason)

    def state(self, t: float, pod: str, state: str = "success", *, ti: str = "ti-1") -> None:
        self._call(t, "state", pod, 204, ti=ti, state=state)

    def _call(self, t: float, call: str, pod: str, code: int | None, **more: Any) -> None:
        number = next(self.requests)
        reason = more.pop("reason", "")
        self.add(t, "lab", "execution.request", req=number, call=call, pod=pod, **more)
        if code is not None:
            self.add(t, "lab", "execution.answer", req=number, code=code, reason=reason)

    def user_code(self, t: float, pod: str, *, ti: str = "ti-1", until: float | None = None, **more: Any) -> None:
        """Have user code run; `more` may have part, try, task_id."""
        about = {"part": "execute", "ti": ti, "task_id": "work", "map_index": -1, "try": 1, "pod": pod, **more}
        self.add(t, f"user-{pod}", "user.begin", **about)
        if until is not None:
            self.add(until, f"user-{pod}", "user.end", **about)

    def deed(self, t: float, what: str, target: str = "work") -> None:
        self.add(t, "lab", "lab.deed", what=what, target=target)

    def fault(self, t: float, rule: str, action: str = "quota") -> None:
        self.add(t, "cluster", "fault.fired", rule=rule, action=action)

    def end(self, t: float = 60, trouble: str = "") -> list[Record]:
        self.add(t, "lab", "ti.rows-end", count=self.rows, run_id=RUN)
        self.add(t, "lab", "scenario.end", run_id=RUN, trouble=trouble)
        return self.records


def plain(story: Story, pod: str = "pod-a", *, at: float = 1, ti: str = "ti-1", **more: Any) -> Story:
    """Tell of a launch that goes well, within ten seconds from `at`."""
    story.queue(at, ti=ti, **more)
    story.pod(at + 0.5, pod, ti=ti, try_number=more.get("try", 1))
    story.starts(at + 2, pod)
    story.run(at + 4, pod, ti=ti)
    story.row(at + 4, "queued>running", ti=ti, who="api-server", hostname=pod, **more)
    story.user_code(at + 5, pod, ti=ti, until=at + 7)
    story.row(at + 8, "running>success", ti=ti, who="api-server", hostname=pod, **more)
    story.state(at + 8, pod, ti=ti)
    story.ends(at + 9, pod)
    story.object(at + 10, "DELETED", pod)
    return story


def cleared_while_held(story: Story, *, code: int = 404, exit_code: int = 1) -> Story:
    """Tell of upstream's story: the pod is held back, the task is cleared, the old launch's pod comes all the same."""
    story.queue(1)
    story.pod(1.5, "pod-old-0", code=403)
    story.fault(1.5, "quota")
    story.deed(3, "clear")
    story.row(3, "queued>", ti="ti-2", old_ti="ti-1", who="api-server")
    story.row(4, ">scheduled", ti="ti-2")
    plain(story, "pod-new", at=5, ti="ti-2")
    story.pod(6, "pod-old", issued=1)
    story.starts(8, "pod-old")
    story.run(10, "pod-old", code, reason="not_found")
    story.ends(11, "pod-old", exit_code)
    return story
