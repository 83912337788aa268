"""What of a request is passed on, and what of its answer comes back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from aiohttp import web

from launchguard.lab.kube.front import split_user

if TYPE_CHECKING:
    from collections.abc import Mapping

    from launchguard.lab.cluster.api import Answer, Headers

# Of one connection, not of the message; and who asks, which the way to the cluster knows by itself.
_HOP: Final = frozenset(
    {"connection", "keep-alive", "transfer-encoding", "content-length", "host", "accept-encoding", "authorization"}
)


def raw_path(request: web.Request) -> str:
    """Give path and query as they came, without the client's name."""
    return split_user(request.raw_path)[1]


def kept(headers: Mapping[str, str]) -> Headers:
    """Give the headers that go on to the cluster."""
    return [(name, value) for name, value in headers.items() if name.lower() not in _HOP]


def response_of(answer: Answer) -> web.Response:
    """Give the cluster's answer as the relay's."""
    headers = [(name, value) for name, value in answer.headers if name.lower() not in _HOP]
    return web.Response(status=answer.code, body=answer.data, headers=headers)
