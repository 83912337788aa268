"""Faults as rules: what to match, what to do, how often. Knows neither HTTP nor processes: it only decides."""

from __future__ import annotations

import random
import time
from collections import Counter
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Any

import msgspec

from launchguard.errors import LaunchguardError
from launchguard.lab.actions import ACTIONS, Action, Point
from launchguard.lab.history import History, Kind
from launchguard.lab.kube.selectors import match_labels, parse_labels
from launchguard.lab.kube.status import ApiError

if TYPE_CHECKING:
    from collections.abc import Callable


class Match(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Which requests, watch events or pods a rule is about; what is not given matches all.

    Args:
        verbs: of the request, as in `kubectl auth can-i`: get, list, watch, create, update, patch, delete ...
        resource: plural.
        subresource: `status`, `log` ...; left out it matches the object itself only, `*` matches any.
        name: shell pattern. For a creation with `generateName` the name is not known yet.
        labels: label selector, on the object of the request (the one sent, or the one stored), event or pod.
        events: watch events: ADDED, MODIFIED, DELETED.
        phases: of the pod in question.
        user: who asks, as named by the server URL of its kubeconfig.
    """

    verbs: tuple[str, ...] = ()
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = "*"
    labels: str = ""
    events: tuple[str, ...] = ()
    phases: tuple[str, ...] = ()
    user: str = ""


class Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """One fault.

    Args:
        id: names the rule in the history; part of the seed of its draws.
        params: of the action; see `actions.ACTIONS` for names and defaults.
        count: how often it may fire; None is without limit.
        skip: how many matches pass unharmed before the first.
        probability: of firing at a match, 0 to 1.
        start_after: seconds from arming to the beginning of its life.
        end_after: seconds from arming to the end of its life.
    """

    id: str
    action: Action
    match: Match = Match()
    params: dict[str, Any] = {}
    count: int | None = None
    skip: int = 0
    probability: float = 1.0
    start_after: float = 0.0
    end_after: float | None = None


class Subject(msgspec.Struct, frozen=True, kw_only=True):
    """What a fault may strike: a request, a watch event, or a pod on its way to run."""

    verb: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    labels: dict[str, str] = {}
    event: str = ""
    phase: str = ""
    user: str = ""


class Firing(msgspec.Struct, frozen=True):
    """A rule that strikes now."""

    rule: str
    action: Action
    params: dict[str, Any]


class Tally(msgspec.Struct):
    """How a rule has fared: matches include those that were skipped or not drawn."""

    rule: Rule
    matched: int = 0
    fired: int = 0
    state: str = ""


class _Armed:
    def __init__(self, rule: Rule, seed: int, now: float) -> None:
        self.rule = rule
        self.selector = parse_labels(rule.match.labels)
        self.born = now
        self.matched = 0
        self.fired = 0
        # A generator for each rule: its draws must not depend on what other rules see.
        self.random = random.Random(f"{seed}:{rule.id}")  # noqa: S311  must replay, is no secret

    def state(self, now: float) -> str:
        age = now - self.born
        if self.rule.count is not None and self.fired >= self.rule.count:
            return "exhausted"
        if self.rule.end_after is not None and age >= self.rule.end_after:
            return "expired"
        return "active" if age >= self.rule.start_after else "armed"

    def strikes(self, subject: Subject, now: float) -> bool:
        if self.state(now) != "active" or not self._matches(subject):
            return False
        self.matched += 1
        # Drawn at every match, also at a skipped one, so that `skip` does not shift the sequence.
        lucky = self.random.random() < self.rule.probability
        if self.matched <= self.rule.skip or not lucky:
            return False
        self.fired += 1
        return True

    def _matches(self, subject: Subject) -> bool:
        match = self.rule.match
        return (
            (not match.verbs or subject.verb in match.verbs)
            and match.resource in {"", subject.resource}
            and match.subresource in {"*", subject.subresource}
            and match.namespace in {"", subject.namespace}
            and match.user in {"", subject.user}
            and (not match.events or subject.event in match.events)
            and (not match.phases or subject.phase in match.phases)
            and fnmatchcase(subject.name, match.name)
            and match_labels(self.selector, subject.labels)
        )


class FaultEngine:
    """Holds the rules of a run and draws from them. Belongs to one thread.

    Args:
        seed: of all draws.
        history: where arming, firing and removal are recorded.
        clock: seconds, never stepped.
    """

    def __init__(self, seed: int, history: History, clock: Callable[[], float] = time.monotonic) -> None:
        self._seed = seed
        self._history = history
        self._clock = clock
        self._armed: dict[str, _Armed] = {}
        self.fired: Counter[Action] = Counter()
        """How often each action really struck, rules since removed included."""

    def arm(self, rule: Rule) -> None:
        """Add a rule.

        Raises:
            LaunchguardError: its id is taken, its action has no such parameter, or a value makes no sense.
        """
        if rule.id in self._armed:
            raise LaunchguardError(f"fault {rule.id!r} is armed already: remove it first, or use another id")
        _check_rule(rule)
        self._armed[rule.id] = _Armed(rule, self._seed, self._clock())
        self._history.record(Kind.FAULT_ARMED, rule=msgspec.to_builtins(rule))

    def disarm(self, rule_id: str) -> Tally:
        """Remove a rule, and give its last tally.

        Raises:
            LaunchguardError: there is none of this id.
        """
        armed = self._armed.pop(rule_id, None)
        if armed is None:
            raise LaunchguardError(f"no fault {rule_id!r} is armed; there are: {', '.join(self._armed) or 'none'}")
        self._history.record(Kind.FAULT_REMOVED, rule=rule_id, matched=armed.matched, fired=armed.fired)
        return self._tally(armed, "removed")

    def draw(self, point: Point, subject: Subject) -> list[Firing]:
        """Tell which rules strike here, in the order in which they were armed."""
        now = self._clock()
        rules = [armed for armed in self._armed.values() if ACTIONS[armed.rule.action].point is point]
        struck = [armed.rule for armed in rules if armed.strikes(subject, now)]
        return [self._fire(rule, subject) for rule in struck]

    def _fire(self, rule: Rule, subject: Subject) -> Firing:
        self.fired[rule.action] += 1
        about = {name: value for name, value in msgspec.to_builtins(subject).items() if value and name != "labels"}
        self._history.record(Kind.FAULT_FIRED, rule=rule.id, action=rule.action, subject=about)
        return Firing(rule.id, rule.action, {**ACTIONS[rule.action].params, **rule.params})

    def tallies(self) -> list[Tally]:
        now = self._clock()
        return [self._tally(armed, armed.state(now)) for armed in self._armed.values()]

    def _tally(self, armed: _Armed, state: str) -> Tally:
        return Tally(armed.rule, armed.matched, armed.fired, state)


def _check_rule(rule: Rule) -> None:
    unknown = sorted(set(rule.params) - set(ACTIONS[rule.action].params))
    if unknown:
        known = ", ".join(ACTIONS[rule.action].params) or "none"
        raise LaunchguardError(f"fault {rule.id!r}: {rule.action} has no parameter {unknown[0]!r}; it has: {known}")
    if not 0 <= rule.probability <= 1:
        raise LaunchguardError(f"fault {rule.id!r}: probability must lie between 0 and 1, not {rule.probability}")
    try:
        parse_labels(rule.match.labels)
    except ApiError as error:
        raise LaunchguardError(f"fault {rule.id!r}: {error.message}") from error
