"""The HTTP layer of the API stand-in: reads calls, records them, lets faults strike, writes answers."""

from __future__ import annotations

import asyncio
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from aiohttp import web

from launchguard.lab.actions import Point
from launchguard.lab.history import History, Kind
from launchguard.lab.kube.call import Call, answer_summary
from launchguard.lab.kube.discovery import discover
from launchguard.lab.kube.endpoints import Endpoints, pod_of
from launchguard.lab.kube.gate import ConnectionCut, Gate
from launchguard.lab.kube.logs import LogSource, find_log, read_excerpt, send_log
from launchguard.lab.kube.requests import is_true, parse_target
from launchguard.lab.kube.status import ApiError, bad_request, internal_error, unknown_path, unsupported_media_type
from launchguard.lab.kube.watching import WatchEnd, Watches
from launchguard.lab.kubeconfig import USER_PATH

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from launchguard.lab.faults import FaultEngine
    from launchguard.lab.kube.objects import JsonObject, JsonValue
    from launchguard.lab.kube.registry import Registry

_LARGEST_BODY: Final = 3 * 1024 * 1024
_T = TypeVar("_T")


class ApiServer:
    """Serves the registry's objects on loopback.

    Args:
        logs: where pods' logs come from.
    """

    def __init__(
        self, registry: Registry, watches: Watches, faults: FaultEngine, history: History, logs: LogSource
    ) -> None:
        self._registry = registry
        self._watches = watches
        self._history = history
        self._logs = logs
        self._gate = Gate(faults)
        self._endpoints = Endpoints(registry)
        self._numbers = count(1)
        self._running: set[asyncio.Task[Any]] = set()
        self._runner: web.AppRunner | None = None
        self._port = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def listening(self) -> bool:
        return self._runner is not None

    async def listen(self, port: int = 0) -> None:
        """Begin to listen; after `close`, on the same port again."""
        app = web.Application(client_max_size=_LARGEST_BODY)
        app.router.add_route("*", "/{path:.*}", self._handle)
        # A watch must end when its client leaves; other calls are shielded: a server finishes what it began.
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", self._port or port)
        await site.start()
        self._runner = runner
        self._port = int(runner.addresses[0][1])

    async def close(self) -> None:
        """Stop to listen and cut all connections, as when the server goes down; objects stay."""
        if self._runner is not None:
            runner, self._runner = self._runner, None
            self._watches.drop()
            await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        number = next(self._numbers)
        try:
            return await self._answer(request, number)
        except ApiError as error:
            return self._refuse(number, error)
        except ConnectionCut:
            self._history.record(Kind.ANSWER, req=number, cut=True)
            return _cut(request)
        except (asyncio.CancelledError, ConnectionError):
            self._history.record(Kind.ANSWER, req=number, client_gone=True)
            raise
        except Exception as error:
            self._history.record(Kind.BUG, req=number, error=f"{type(error).__name__}: {error}")
            self._refuse(number, internal_error(str(error)))
            raise

    def _refuse(self, number: int, error: ApiError) -> web.Response:
        self._history.record(Kind.ANSWER, req=number, code=error.code, reason=error.reason, message=error.message)
        if error.plain is not None:
            return web.Response(status=error.code, text=error.plain, headers=error.headers)
        return _json(error.code, error.status(), error.headers)

    async def _answer(self, request: web.Request, number: int) -> web.StreamResponse:
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
        self._record_call(request, call)
        subject = call.subject(self._endpoints.stored(call))
        if target.verb == "watch":
            await self._gate.pass_through(Point.REQUEST, subject)
            return await self._watch(request, call)
        if target.subresource == "log":
            await self._gate.pass_through(Point.REQUEST, subject)
            return await self._log(request, call)
        return await self._shielded(self._carry_out(call))

    def _record_call(self, request: web.Request, call: Call) -> None:
        target = call.target
        body = {} if call.body is None else {"body": call.body}
        self._history.record(
            Kind.REQUEST,
            req=call.id,
            verb=target.verb,
            resource=target.resource.plural,
            subresource=target.subresource,
            namespace=target.namespace,
            name=target.name,
            query=dict(call.query),
            user=call.user,
            agent=request.headers.get("User-Agent", ""),
            **body,
        )

    async def _carry_out(self, call: Call) -> web.Response:
        subject = call.subject(self._endpoints.stored(call))
        await self._gate.pass_through(Point.REQUEST, subject)
        code, answer = self._endpoints.answer(call)
        await self._gate.pass_through(Point.ANSWER, subject)
        self._history.record(Kind.ANSWER, req=call.id, code=int(code), **answer_summary(answer))
        return _json(code, answer)

    async def _shielded(self, work: Coroutine[Any, Any, _T]) -> _T:
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def _watch(self, request: web.Request, call: Call) -> web.StreamResponse:
        call.filter()
        call.presenter(self._registry.clock.now())
        response = await _stream(request, "application/json")
        end = WatchEnd.CLIENT
        try:
            end = await self._watches.run(call, response.write)
        finally:
            self._history.record(Kind.ANSWER, req=call.id, code=200, watch_end=end)
        return _cut(request) if end is WatchEnd.DROPPED else response

    async def _log(self, request: web.Request, call: Call) -> web.StreamResponse:
        pod = pod_of(self._registry, call)
        log = find_log(self._logs, pod, call.query)
        excerpt = read_excerpt(call.query, self._registry.clock.now())
        response = await _stream(request, "text/plain")
        await send_log(log, excerpt, follow=is_true(call.query, "follow"), send=response.write)
        self._history.record(Kind.ANSWER, req=call.id, code=200)
        return response


def split_user(path: str) -> tuple[str, str]:
    """Take the client's name off a path, where its kubeconfig put it.

    >>> split_user("/as/scheduler-a/api/v1/pods")
    ('scheduler-a', '/api/v1/pods')
    """
    if not path.startswith(USER_PATH):
        return "", path
    user, _, rest = path.removeprefix(USER_PATH).partition("/")
    return user, f"/{rest}"


def _discovery(method: str, path: str) -> web.Response:
    found = discover(path) if method in {"GET", "HEAD"} else None
    if found is None:
        raise unknown_path()
    return _json(200, found)


def _json(code: int, body: JsonObject, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(status=code, body=msgspec.json.encode(body), content_type="application/json", headers=headers)


def _cut(request: web.Request) -> web.StreamResponse:
    """Close the connection at once; the response that is returned goes nowhere."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()


async def _stream(request: web.Request, content_type: str) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": content_type})
    response.enable_chunked_encoding()
    await response.prepare(request)
    return response


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
