"""The faults that there are, as data: where each strikes, and what can be set."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from collections.abc import Mapping


class Point(StrEnum):
    """Where faults are consulted."""

    REQUEST = "request"
    """A request came in; nothing is done yet."""
    ANSWER = "answer"
    """The request was carried out; its answer is not sent yet."""
    EVENT = "event"
    """A watch event is about to be sent to one client."""
    SCHEDULE = "schedule"
    """A pod is about to get its node."""
    START = "start"
    """A pod has its node; none of its containers runs yet."""


class Action(StrEnum):
    """What a fault does."""

    QUOTA = "quota"
    """403, worded as the ResourceQuota admission does."""
    QUOTA_CONFLICT = "quota-conflict"
    """409: the quota object was modified meanwhile."""
    RATE_LIMIT = "rate-limit"
    """429 with Retry-After, as plain text."""
    ERROR = "error"
    """500 (or another code), nothing was done."""
    GONE = "gone"
    """410 as the HTTP status."""
    SLOW = "slow"
    """The request waits before it is carried out."""
    LOST_REQUEST = "lost-request"
    """The connection is closed, nothing was done."""
    LOST_RESPONSE = "lost-response"
    """The connection is closed, but the request was carried out."""
    ERROR_AFTER = "error-after"
    """500 (or another code), but the request was carried out."""
    SLOW_RESPONSE = "slow-response"
    """The answer waits after the request was carried out."""
    DUPLICATE_EVENT = "duplicate-event"
    """A watch event is sent twice."""
    LATE_EVENT = "late-event"
    """A watch event, and all of its stream behind it, comes late."""
    REORDER_EVENT = "reorder-event"
    """A watch event is sent after the next one of its stream."""
    WATCH_DROP = "watch-drop"
    """The connection of a watch is cut in place of an event."""
    WATCH_GONE = "watch-gone"
    """A watch gets an ERROR event with 410 in place of an event, and ends."""
    UNSCHEDULABLE = "unschedulable"
    """No node takes the pod for a while."""
    SLOW_START = "slow-start"
    """The node takes its time to create the containers."""
    IMAGE_PULL = "image-pull"
    """The image cannot be pulled, for a while or for good."""
    OOM_BEFORE_START = "oom-before-start"
    """The containers are killed for lack of memory before they run anything."""
    START_ERROR = "start-error"
    """The container runtime fails to start the containers."""
    REJECTED = "rejected"
    """The kubelet, short of memory, turns the pod away (Evicted)."""
    DRAINED = "drained"
    """The pod is evicted through the API, as by a drain of its node."""


@dataclass(frozen=True, slots=True)
class ActionSpec:
    """Where an action strikes, and its parameters with their defaults; durations are in seconds."""

    point: Point
    params: Mapping[str, Any] = field(default_factory=dict)


ACTIONS: Final[Mapping[Action, ActionSpec]] = {
    Action.QUOTA: ActionSpec(Point.REQUEST, {"quota": "compute-quota", "used": "10", "hard": "10"}),
    Action.QUOTA_CONFLICT: ActionSpec(Point.REQUEST, {"quota": "compute-quota"}),
    Action.RATE_LIMIT: ActionSpec(Point.REQUEST, {"retry_after": 1}),
    Action.ERROR: ActionSpec(Point.REQUEST, {"code": 500, "message": "etcdserver: request timed out"}),
    Action.GONE: ActionSpec(Point.REQUEST, {}),
    Action.SLOW: ActionSpec(Point.REQUEST, {"seconds": 1.0}),
    Action.LOST_REQUEST: ActionSpec(Point.REQUEST, {}),
    Action.LOST_RESPONSE: ActionSpec(Point.ANSWER, {}),
    Action.ERROR_AFTER: ActionSpec(Point.ANSWER, {"code": 500, "message": "etcdserver: request timed out"}),
    Action.SLOW_RESPONSE: ActionSpec(Point.ANSWER, {"seconds": 1.0}),
    Action.DUPLICATE_EVENT: ActionSpec(Point.EVENT, {}),
    Action.LATE_EVENT: ActionSpec(Point.EVENT, {"seconds": 1.0}),
    Action.REORDER_EVENT: ActionSpec(Point.EVENT, {"at_most": 5.0}),
    Action.WATCH_DROP: ActionSpec(Point.EVENT, {}),
    Action.WATCH_GONE: ActionSpec(Point.EVENT, {}),
    Action.UNSCHEDULABLE: ActionSpec(Point.SCHEDULE, {"seconds": 1.0}),
    Action.SLOW_START: ActionSpec(Point.START, {"seconds": 1.0}),
    # `seconds` None: for good.
    Action.IMAGE_PULL: ActionSpec(
        Point.START, {"seconds": None, "message": "rpc error: code = NotFound desc = failed to pull and unpack image"}
    ),
    Action.OOM_BEFORE_START: ActionSpec(Point.START, {}),
    Action.START_ERROR: ActionSpec(
        Point.START, {"message": "failed to create containerd task: failed to create shim task", "exit_code": 128}
    ),
    Action.REJECTED: ActionSpec(
        Point.START, {"reason": "Evicted", "message": "Pod was rejected: The node had condition: [MemoryPressure]. "}
    ),
    Action.DRAINED: ActionSpec(Point.START, {}),
}
