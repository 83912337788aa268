"""Where faults strike requests: before they are carried out, and before they are answered."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

from launchguard.lab.actions import Action, Point
from launchguard.lab.kube.resources import PODS, QUOTAS
from launchguard.lab.kube.status import (
    ApiError,
    conflict,
    exceeded_quota,
    internal_error,
    rate_limited,
    too_old,
    unavailable,
)

if TYPE_CHECKING:
    from collections.abc import Callable

    from launchguard.lab.faults import FaultEngine, Firing, Subject


class ConnectionCut(Exception):  # noqa: N818  what happens, not a failure of the stand-in
    """The client is to see its connection closed in place of an answer."""


_Params = dict[str, Any]


def _quota(subject: Subject, params: _Params) -> ApiError:
    return exceeded_quota(PODS, subject.name, params["quota"], str(params["used"]), str(params["hard"]))


def _quota_conflict(_subject: Subject, params: _Params) -> ApiError:
    return conflict(QUOTAS, params["quota"])


def _rate_limit(_subject: Subject, params: _Params) -> ApiError:
    return rate_limited(int(params["retry_after"]))


def _error(_subject: Subject, params: _Params) -> ApiError:
    code, message = int(params["code"]), str(params["message"])
    known = {500: internal_error, 503: unavailable}
    return known[code](message) if code in known else ApiError(code, "", message)


def _gone(_subject: Subject, _params: _Params) -> ApiError:
    return too_old(1, 2)


_REFUSALS: Final[dict[Action, Callable[[Subject, _Params], ApiError]]] = {
    Action.QUOTA: _quota,
    Action.QUOTA_CONFLICT: _quota_conflict,
    Action.RATE_LIMIT: _rate_limit,
    Action.ERROR: _error,
    Action.ERROR_AFTER: _error,
    Action.GONE: _gone,
}


class Gate:
    """Lets requests and answers pass, or not."""

    def __init__(self, faults: FaultEngine) -> None:
        self._faults = faults

    async def pass_through(self, point: Point, subject: Subject) -> None:
        """Suffer the faults of this point.

        Raises:
            ApiError: the answer that a fault gives.
            ConnectionCut: a fault gives none.
        """
        for firing in self._faults.draw(point, subject):
            await _suffer(firing, subject)


async def _suffer(firing: Firing, subject: Subject) -> None:
    match firing.action:
        case Action.SLOW | Action.SLOW_RESPONSE:
            await asyncio.sleep(firing.params["seconds"])
        case Action.LOST_REQUEST | Action.LOST_RESPONSE:
            raise ConnectionCut
        case action:
            raise _REFUSALS[action](subject, firing.params)
