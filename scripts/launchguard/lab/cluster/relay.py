"""The relay before a real cluster: records calls, lets faults strike, and passes them on.

It serves the lab's namespace alone: what Airflow has no need of, nobody else on this machine gets through it either.
"""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Final

import aiohttp
import msgspec

from launchguard.lab.actions import Point
from launchguard.lab.cluster.api import Answer, decoded_json
from launchguard.lab.cluster.passing import kept, raw_path, response_of
from launchguard.lab.cluster.streams import RelayedWatch
from launchguard.lab.history import History, Kind
from launchguard.lab.kube.call import Call, answer_summary
from launchguard.lab.kube.changelog import ChangeType
from launchguard.lab.kube.front import Front, cut, split_user, stream
from launchguard.lab.kube.gate import ConnectionCut
from launchguard.lab.kube.requests import parse_target
from launchguard.lab.kube.resources import PODS
from launchguard.lab.kube.status import forbidden
from launchguard.lab.kube.watching import WatchEnd

if TYPE_CHECKING:
    from aiohttp import web

    from launchguard.lab.cluster.api import Api
    from launchguard.lab.cluster.hardships import Hardships
    from launchguard.lab.cluster.observer import Observer

_CREATED: Final = 201
_OK: Final = 200


class Relay(Front):
    """Stands for the cluster's API server, as its clients see it.

    Args:
        namespace: the only one that it serves.
    """

    def __init__(self, api: Api, observer: Observer, hardships: Hardships, *, namespace: str, history: History) -> None:
        super().__init__(hardships.faults, history)
        self._api = api
        self._namespace = namespace
        self._observer = observer
        self._hardships = hardships
        self._faults = hardships.faults
        self._watches: set[RelayedWatch] = set()
        self._floor = 0

    def drop_watches(self) -> None:
        self.drop()

    def drop(self, resource: str = "", user: str = "") -> None:
        """Cut the open watches of a resource or user, or all."""
        for watch in self._watches:
            if resource in {"", watch.call.target.resource.plural} and user in {"", watch.call.user}:
                watch.dropped.set()

    def forget(self, version: int) -> None:
        """Have watches that want to go on from before a version get 410."""
        self._floor = version

    async def answer(self, request: web.Request, number: int) -> web.StreamResponse:
        try:
            return await self._answer(request, number)
        except aiohttp.ClientError as error:
            # The way to the cluster is broken: its clients see what they would see without the relay.
            raise ConnectionCut(str(error)) from error

    async def _answer(self, request: web.Request, number: int) -> web.StreamResponse:
        user, path = split_user(request.path)
        data = await request.read()
        target = parse_target(request.method, path, request.query)
        if target is None:
            # Discovery, the version, the server's health.
            return response_of(await self._api.whole(request.method, raw_path(request), kept(request.headers)))
        call = Call(number, target, request.query, decoded_json(data), request.content_type, user=user)
        self.record_call(request, call)
        if target.namespace != self._namespace:
            raise forbidden(target.resource, target.name, f"the lab's relay serves namespace {self._namespace} only")
        if target.verb == "watch":
            await self.gate.pass_through(Point.REQUEST, call.subject(None))
            return await self._watch(request, call)
        return await self.shielded(self._carry_out(request, call, data))

    async def _carry_out(self, request: web.Request, call: Call, data: bytes) -> web.Response:
        ours = call.target.resource is PODS and call.target.name
        subject = call.subject(self._observer.find(call.key) if ours else None)
        await self.gate.pass_through(Point.REQUEST, subject)
        makes_pod = (call.target.verb, call.target.resource, call.target.subresource) == ("create", PODS, "")
        if makes_pod and isinstance(call.body, dict):
            answer = await self._create_pod(request, call)
        else:
            answer = await self._api.whole(request.method, raw_path(request), kept(request.headers), data)
        await self.gate.pass_through(Point.ANSWER, subject)
        self.history.record(Kind.ANSWER, req=call.id, code=answer.code, **answer_summary(answer.json))
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

    async def _watch(self, request: web.Request, call: Call) -> web.StreamResponse:
        async with self._api.send("GET", raw_path(request), kept(request.headers)) as source:
            if source.status != _OK:
                answer = Answer(source.status, list(source.headers.items()), await source.read())
                self.history.record(Kind.ANSWER, req=call.id, code=answer.code, **answer_summary(answer.json))
                return response_of(answer)
            response = await stream(request, source.content_type)
            end = await self._relayed(call, source, response)
        return cut(request) if end is WatchEnd.DROPPED else response

    async def _relayed(self, call: Call, source: aiohttp.ClientResponse, response: web.StreamResponse) -> WatchEnd:
        watch = RelayedWatch(call, self._faults, self.history, send=response.write, seen=self._observer.overhear)
        self._watches.add(watch)
        end = WatchEnd.CLIENT
        try:
            with contextlib.suppress(ConnectionError):
                end = await (watch.refuse() if self._forgotten(call) else watch.run(source.content))
        finally:
            self._watches.discard(watch)
            self.history.record(Kind.ANSWER, req=call.id, code=_OK, watch_end=end)
        return end

    def _forgotten(self, call: Call) -> bool:
        asked = call.query.get("resourceVersion", "")
        return asked.isdecimal() and 0 < int(asked) < self._floor
