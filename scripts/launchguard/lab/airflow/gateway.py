"""A proxy between the workers and the execution API: it writes down who asked to start or end what, and the answer.

It serves the execution API alone: in a cluster, others than the workers reach it too.
"""

from __future__ import annotations

import re
from itertools import count
from typing import TYPE_CHECKING, Any, Final

import aiohttp
import msgspec
from aiohttp import web

from launchguard.lab.history import Kind

if TYPE_CHECKING:
    from launchguard.lab.cluster.diary import Diary
    from launchguard.lab.history import History

_NOTED: Final = re.compile(r"/execution/task-instances/(?P<ti>[^/]+)/(?P<call>run|state)$")
# Of one connection, not of the message; the length, which is counted anew; and no compression, to read answers.
_HOP: Final = frozenset({"connection", "keep-alive", "transfer-encoding", "content-length", "host", "accept-encoding"})
_SERVED: Final = "/execution/"
_TIMEOUT: Final = aiohttp.ClientTimeout(total=60)


class Gateway:
    """Passes everything on. Make and use it inside a running event loop.

    Args:
        upstream: the API server's URL, without a path.
        diary: takes what user code tells that cannot write into the history itself.
    """

    def __init__(self, upstream: str, history: History, diary: Diary | None = None) -> None:
        self._diary = diary
        self._upstream = upstream
        self._history = history
        self._numbers = count(1)
        self._starters: dict[str, str] = {}
        self._session: aiohttp.ClientSession | None = None
        self._runner: web.AppRunner | None = None
        self.url = ""

    async def listen(self, port: int, host: str = "127.0.0.1") -> None:
        self._session = aiohttp.ClientSession(auto_decompress=False, timeout=_TIMEOUT)
        app = web.Application(client_max_size=64 * 1024 * 1024)
        app.router.add_route("*", "/{path:.*}", self._pass)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, host, port).start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()
        if self._session is not None:
            await self._session.close()
        if self._diary is not None:
            self._diary.close()

    async def _pass(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if self._diary is not None and self._diary.opens_with(request.path):
            return web.Response(status=204 if self._diary.take(body) else 400)
        if not request.path.startswith(_SERVED):
            return web.Response(status=404)
        noted = _NOTED.search(request.path) if request.method == "PATCH" else None
        number = self._note_request(noted, body) if noted else 0
        kept = [(name, value) for name, value in request.headers.items() if name.lower() not in _HOP]
        headers = [*kept, ("Accept-Encoding", "identity")]
        try:
            code, answered, data = await self._ask(request, headers, body)
        except (aiohttp.ClientError, TimeoutError) as error:
            if noted:
                self._history.record(Kind.EXECUTION_ANSWER, req=number, error=str(error))
            return _cut(request)
        if noted:
            self._note_answer(noted, number, code, data, body)
        return web.Response(status=code, body=data, headers=answered)

    async def _ask(
        self, request: web.Request, headers: list[tuple[str, str]], body: bytes
    ) -> tuple[int, list[tuple[str, str]], bytes]:
        if self._session is None:
            raise aiohttp.ClientConnectionError("the gateway is closed")
        url = f"{self._upstream}{request.raw_path}"
        asked = self._session.request(request.method, url, headers=headers, data=body, allow_redirects=False)
        async with asked as answer:
            kept = [(name, value) for name, value in answer.headers.items() if name.lower() not in _HOP]
            return answer.status, kept, await answer.read()

    def _note_request(self, noted: re.Match[str], body: bytes) -> int:
        number, payload, ti = next(self._numbers), _json(body), noted["ti"]
        self._history.record(
            Kind.EXECUTION_REQUEST,
            req=number,
            call=noted["call"],
            ti=ti,
            pod=payload.get("hostname") or self._starters.get(ti, ""),
            pid=payload.get("pid"),
            state=payload.get("state") or "",
            token=payload.get("external_executor_id") or "",
        )
        return number

    def _note_answer(self, noted: re.Match[str], number: int, code: int, data: bytes, body: bytes) -> None:
        detail = _json(data).get("detail")
        told = detail if isinstance(detail, dict) else {"message": detail} if detail else {}
        if noted["call"] == "run" and code < web.HTTPBadRequest.status_code:
            self._starters[noted["ti"]] = str(_json(body).get("hostname", ""))
        about = {name: str(told[name]) for name in ("reason", "message", "previous_state") if told.get(name)}
        self._history.record(Kind.EXECUTION_ANSWER, req=number, code=code, **about)


def _json(data: bytes) -> dict[str, Any]:
    try:
        decoded = msgspec.json.decode(data)
    except msgspec.DecodeError:
        return {}
    return decoded if isinstance(decoded, dict) else {}


def _cut(request: web.Request) -> web.StreamResponse:
    """Do as the server would that is not there: the worker sees its connection end."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
