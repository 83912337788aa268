"""The order and time in which one watch's events leave, faults included. Knows no clock of its own."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING

from launchguard.lab.actions import Action, Point
from launchguard.lab.faults import Subject
from launchguard.lab.kube.objects import key_of, labels_of, phase_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from launchguard.lab.faults import FaultEngine, Firing
    from launchguard.lab.kube.call import Call
    from launchguard.lab.kube.objects import JsonObject


@dataclass(frozen=True, slots=True)
class WatchEvent:
    type: str
    object: JsonObject


class Shaper:
    """A queue of events; times are seconds of any one clock."""

    def __init__(self) -> None:
        self._queue: deque[tuple[float, WatchEvent]] = deque()
        self._held: tuple[float, WatchEvent] | None = None
        self._not_before = 0.0

    @property
    def empty(self) -> bool:
        return not self._queue and self._held is None

    def take(self, event: WatchEvent, now: float, firings: Mapping[Action, Firing]) -> None:
        """Queue an event as the faults say that struck it."""
        if hold := firings.get(Action.REORDER_EVENT):
            self.hold(event, now, at_most=hold.params["at_most"])
            return
        late = firings.get(Action.LATE_EVENT)
        delay = late.params["seconds"] if late else 0.0
        self.push(event, now, delay=delay, copies=2 if Action.DUPLICATE_EVENT in firings else 1)

    def push(self, event: WatchEvent, now: float, *, delay: float = 0.0, copies: int = 1) -> None:
        """Queue an event; a delay holds up all that comes behind it, as a slow stream does."""
        self._not_before = max(self._not_before, now + delay)
        self._queue.extend([(self._not_before, event)] * copies)
        self._release_held()

    def hold(self, event: WatchEvent, now: float, *, at_most: float) -> None:
        """Keep an event back until the next one is queued, or for `at_most` seconds."""
        self._release_held()
        self._held = (now + at_most, event)

    def pop_due(self, now: float) -> list[WatchEvent]:
        if self._held and self._held[0] <= now:
            self._not_before = max(self._not_before, now)
            self._release_held()
        due = []
        while self._queue and self._queue[0][0] <= now:
            due.append(self._queue.popleft()[1])
        return due

    def next_due(self) -> float | None:
        """Tell when there will be something to pop; None for not without a push."""
        times = [self._queue[0][0]] if self._queue else []
        times += [self._held[0]] if self._held else []
        return min(times, default=None)

    def _release_held(self) -> None:
        if self._held:
            self._queue.append((self._not_before, self._held[1]))
            self._held = None


def draw_on(event: WatchEvent, call: Call, faults: FaultEngine) -> dict[Action, Firing]:
    """Tell which faults strike an event on its way to the client of a watch."""
    key, target = key_of(event.object), call.target
    subject = Subject(
        verb="watch",
        resource=target.resource.plural,
        namespace=key.namespace,
        name=key.name,
        labels=labels_of(event.object),
        event=event.type,
        phase=phase_of(event.object),
        user=call.user,
    )
    return {firing.action: firing for firing in faults.draw(Point.EVENT, subject)}
