"""The HTTP layer of the API stand-in: reads calls, records them, lets faults strike, writes answers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec
from aiohttp import web

from launchguard.lab.actions import Point
from launchguard.lab.history import History, Kind
from launchguard.lab.kube.call import Call, answer_summary
from launchguard.lab.kube.discovery import discover
from launchguard.lab.kube.endpoints import Endpoints, pod_of
from launchguard.lab.kube.front import Front, cut, json_response, split_user, stream
from launchguard.lab.kube.logs import LogSource, find_log, read_excerpt, send_log
from launchguard.lab.kube.requests import is_true, parse_target
from launchguard.lab.kube.status import bad_request, unknown_path, unsupported_media_type
from launchguard.lab.kube.watching import WatchEnd, Watches

if TYPE_CHECKING:
    from launchguard.lab.faults import FaultEngine
    from launchguard.lab.kube.objects import JsonValue
    from launchguard.lab.kube.registry import Registry


class ApiServer(Front):
    """Serves the registry's objects on loopback.

    Args:
        logs: where pods' logs come from.
    """

    def __init__(
        self, registry: Registry, watches: Watches, faults: FaultEngine, history: History, logs: LogSource
    ) -> None:
        super().__init__(faults, history)
        self._registry = registry
        self._watches = watches
        self._logs = logs
        self._endpoints = Endpoints(registry)

    def drop_watches(self) -> None:
        self._watches.drop()

    async def answer(self, request: web.Request, number: int) -> web.StreamResponse:
        user, path = split_user(request.path)
        if path in {"/healthz", "/livez", "/readyz"}:
            return web.Response(text="ok")
        target = parse_target(request.method, path, request.query)
        if target is None:
            return _discovery(request.method, path)
        call = Call(
            number,
            target,
            request.query,
            accept=request.headers.get("Accept", ""),
            body=await _read_body(request),
            media_type=request.content_type,
            user=user,
        )
        self.record_call(request, call)
        subject = call.subject(self._endpoints.stored(call))
        if target.verb == "watch":
            await self.gate.pass_through(Point.REQUEST, subject)
            return await self._watch(request, call)
        if target.subresource == "log":
            await self.gate.pass_through(Point.REQUEST, subject)
            return await self._log(request, call)
        return await self.shielded(self._carry_out(call))

    async def _carry_out(self, call: Call) -> web.Response:
        subject = call.subject(self._endpoints.stored(call))
        await self.gate.pass_through(Point.REQUEST, subject)
        code, answer = self._endpoints.answer(call)
        await self.gate.pass_through(Point.ANSWER, subject)
        self.history.record(Kind.ANSWER, req=call.id, code=int(code), **answer_summary(answer))
        return json_response(code, answer)

    async def _watch(self, request: web.Request, call: Call) -> web.StreamResponse:
        call.filter()
        call.presenter(self._registry.clock.now())
        response = await stream(request, "application/json")
        end = WatchEnd.CLIENT
        try:
            end = await self._watches.run(call, response.write)
        finally:
            self.history.record(Kind.ANSWER, req=call.id, code=200, watch_end=end)
        return cut(request) if end is WatchEnd.DROPPED else response

    async def _log(self, request: web.Request, call: Call) -> web.StreamResponse:
        pod = pod_of(self._registry, call)
        log = find_log(self._logs, pod, call.query)
        excerpt = read_excerpt(call.query, self._registry.clock.now())
        response = await stream(request, "text/plain")
        await send_log(log, excerpt, follow=is_true(call.query, "follow"), send=response.write)
        self.history.record(Kind.ANSWER, req=call.id, code=200)
        return response


def _discovery(method: str, path: str) -> web.Response:
    found = discover(path) if method in {"GET", "HEAD"} else None
    if found is None:
        raise unknown_path()
    return json_response(200, found)


async def _read_body(request: web.Request) -> JsonValue:
    data = await request.read()
    if not data:
        return None
    if "json" not in request.content_type:
        # Clients that prefer another encoding, such as protobuf, try again with JSON.
        raise unsupported_media_type(request.content_type, ["application/json"])
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError as error:
        raise bad_request(f"couldn't parse the request body: {error}") from error
