"""The relay before a real cluster: records calls, lets faults strike, and passes them on.

It serves the lab's namespace alone: what Airflow has no need of, nobody else on this machine gets through it either.
"""

from __future__ import annotations

import asyncio
import contextlib
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TypeVar

import aiohttp
import msgspec
from aiohttp import web

from launchguard.lab.actions import Point
from launchguard.lab.cluster.api import Answer, decoded_json
from launchguard.lab.cluster.passing import cut, kept, raw_path, response_of
from launchguard.lab.cluster.streams import RelayedWatch
from launchguard.lab.history import History, Kind
from launchguard.lab.kube.call import Call, answer_summary
from launchguard.lab.kube.changelog import ChangeType
from launchguard.lab.kube.gate import ConnectionCut, Gate
from launchguard.lab.kube.requests import parse_target
from launchguard.lab.kube.resources import PODS
from launchguard.lab.kube.server import split_user
from launchguard.lab.kube.status import ApiError, forbidden, internal_error
from launchguard.lab.kube.watching import WatchEnd

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from launchguard.lab.cluster.api import Api
    from launchguard.lab.cluster.hardships import Hardships
    from launchguard.lab.cluster.observer import Observer

_LARGEST_BODY: Final = 3 * 1024 * 1024
_CREATED: Final = 201
_OK: Final = 200
_T = TypeVar("_T")


class Relay:
    """Stands for the cluster's API server, as its clients see it.

    Args:
        namespace: the only one that it serves.
    """

    def __init__(self, api: Api, observer: Observer, hardships: Hardships, *, namespace: str, history: History) -> None:
        self._api = api
        self._namespace = namespace
        self._observer = observer
        self._hardships = hardships
        self._faults = hardships.faults
        self._history = history
        self._gate = Gate(self._faults)
        self._numbers = count(1)
        self._watches: set[RelayedWatch] = set()
        self._running: set[asyncio.Task[Any]] = set()
        self._runner: web.AppRunner | None = None
        self._port = 0
        self._floor = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    async def listen(self) -> None:
        """Begin to listen; after `close`, on the same port again."""
        if self._runner is not None:
            return
        app = web.Application(client_max_size=_LARGEST_BODY)
        app.router.add_route("*", "/{path:.*}", self._handle)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self._port).start()
        self._runner = runner
        self._port = int(runner.addresses[0][1])

    async def close(self) -> None:
        """Stop to listen and cut all connections, as when the cluster's API server goes down."""
        if self._runner is not None:
            runner, self._runner = self._runner, None
            self.drop()
            await runner.cleanup()

    def drop(self, resource: str = "", user: str = "") -> None:
        """Cut the open watches of a resource or user, or all."""
        for watch in self._watches:
            if resource in {"", watch.call.target.resource.plural} and user in {"", watch.call.user}:
                watch.dropped.set()

    def forget(self, version: int) -> None:
        """Have watches that want to go on from before a version get 410."""
        self._floor = version

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        number = next(self._numbers)
        try:
            return await self._answer(request, number)
        except ApiError as error:
            return self._refuse(number, error)
        except ConnectionCut:
            self._history.record(Kind.ANSWER, req=number, cut=True)
            return cut(request)
        except aiohttp.ClientError as error:
            # The way to the cluster is broken: its clients see what they would see without the relay.
            self._history.record(Kind.ANSWER, req=number, cut=True, error=str(error))
            return cut(request)
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
        body = msgspec.json.encode(error.status())
        return web.Response(status=error.code, body=body, content_type="application/json", headers=error.headers)

    async def _answer(self, request: web.Request, number: int) -> web.StreamResponse:
        user, path = split_user(request.path)
        data = await request.read()
        target = parse_target(request.method, path, request.query)
        if target is None:
            # Discovery, the version, the server's health.
            return response_of(await self._api.whole(request.method, raw_path(request), kept(request.headers)))
        call = Call(number, target, request.query, decoded_json(data), request.content_type, user=user)
        self._record_call(request, call)
        if target.namespace != self._namespace:
            raise forbidden(target.resource, target.name, f"the lab's relay serves namespace {self._namespace} only")
        if target.verb == "watch":
            await self._gate.pass_through(Point.REQUEST, call.subject(None))
            return await self._watch(request, call)
        return await self._shielded(self._carry_out(request, call, data))

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

    async def _carry_out(self, request: web.Request, call: Call, data: bytes) -> web.Response:
        ours = call.target.resource is PODS and call.target.name
        subject = call.subject(self._observer.find(call.key) if ours else None)
        await self._gate.pass_through(Point.REQUEST, subject)
        makes_pod = (call.target.verb, call.target.resource, call.target.subresource) == ("create", PODS, "")
        if makes_pod and isinstance(call.body, dict):
            answer = await self._create_pod(request, call)
        else:
            answer = await self._api.whole(request.method, raw_path(request), kept(request.headers), data)
        await self._gate.pass_through(Point.ANSWER, subject)
        self._history.record(Kind.ANSWER, req=call.id, code=answer.code, **answer_summary(answer.json))
        return response_of(answer)

    async def _create_pod(self, request: web.Request, call: Call) -> Answer:
        pod, burdens = self._hardships.lay_on(call.object_body())
        data = msgspec.json.encode(pod)
        answer = await self._api.whole(request.method, raw_path(request), kept(request.headers), data)
        if answer.code == _CREATED:
            created = answer.json
            self._hardships.begin(created, burdens)
            # Whoever gets no answer: the pod is there from now on, and the history must say so before it goes on.
            self._observer.take(ChangeType.ADDED, created)
            self._hardships.see(self._observer.known(created))
        return answer

    async def _shielded(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Finish what was begun, even when its client leaves, as a server does."""
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)

    async def _watch(self, request: web.Request, call: Call) -> web.StreamResponse:
        async with self._api.send("GET", raw_path(request), kept(request.headers)) as source:
            if source.status != _OK:
                answer = Answer(source.status, list(source.headers.items()), await source.read())
                self._history.record(Kind.ANSWER, req=call.id, code=answer.code, **answer_summary(answer.json))
                return response_of(answer)
            response = web.StreamResponse(headers={"Content-Type": source.content_type})
            response.enable_chunked_encoding()
            await response.prepare(request)
            end = await self._relayed(call, source, response)
        return cut(request) if end is WatchEnd.DROPPED else response

    async def _relayed(self, call: Call, source: aiohttp.ClientResponse, response: web.StreamResponse) -> WatchEnd:
        watch = RelayedWatch(call, self._faults, self._history, send=response.write, seen=self._observer.overhear)
        self._watches.add(watch)
        end = WatchEnd.CLIENT
        try:
            with contextlib.suppress(ConnectionError):
                end = await (watch.refuse() if self._forgotten(call) else watch.run(source.content))
        finally:
            self._watches.discard(watch)
            self._history.record(Kind.ANSWER, req=call.id, code=_OK, watch_end=end)
        return end

    def _forgotten(self, call: Call) -> bool:
        asked = call.query.get("resourceVersion", "")
        return asked.isdecimal() and 0 < int(asked) < self._floor
