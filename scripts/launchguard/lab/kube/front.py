"""What stands before an API, the stand-in's own or a real cluster's: reads calls, records them, writes refusals."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from itertools import count
from typing import TYPE_CHECKING, Any, Final, TypeVar

import msgspec
from aiohttp import web

from launchguard.lab.history import History, Kind
from launchguard.lab.kube.gate import ConnectionCut, Gate
from launchguard.lab.kube.status import ApiError, internal_error
from launchguard.lab.kubeconfig import USER_PATH

if TYPE_CHECKING:
    from collections.abc import Coroutine

    from launchguard.lab.faults import FaultEngine
    from launchguard.lab.kube.call import Call
    from launchguard.lab.kube.objects import JsonObject

_LARGEST_BODY: Final = 3 * 1024 * 1024
_T = TypeVar("_T")


class Front(ABC):
    """Listens on loopback, and has every request with its answer in the history.

    Args:
        faults: those that strike requests do so through `gate`.
    """

    def __init__(self, faults: FaultEngine, history: History) -> None:
        self.gate = Gate(faults)
        self.history = history
        self._numbers = count(1)
        self._running: set[asyncio.Task[Any]] = set()
        self._runner: web.AppRunner | None = None
        self._port = 0

    @abstractmethod
    async def answer(self, request: web.Request, number: int) -> web.StreamResponse:
        """Answer a request; an `ApiError`, `ConnectionCut` or a lost connection is seen to."""

    @abstractmethod
    def drop_watches(self) -> None:
        """Cut the open watches of all clients."""

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def listening(self) -> bool:
        return self._runner is not None

    async def listen(self, port: int = 0) -> None:
        """Begin to listen, where it does not; after `close`, on the same port again."""
        if self._runner is not None:
            return
        app = web.Application(client_max_size=_LARGEST_BODY)
        app.router.add_route("*", "/{path:.*}", self._handle)
        # A watch must end when its client leaves; other calls are shielded: a server finishes what it began.
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", self._port or port).start()
        self._runner = runner
        self._port = int(runner.addresses[0][1])

    async def close(self) -> None:
        """Stop to listen and cut all connections, as when the server goes down; objects stay."""
        if self._runner is not None:
            runner, self._runner = self._runner, None
            self.drop_watches()
            await runner.cleanup()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        number = next(self._numbers)
        try:
            return await self.answer(request, number)
        except ApiError as error:
            return self._refuse(number, error)
        except ConnectionCut as error:
            self.history.record(Kind.ANSWER, req=number, cut=True, **({"error": str(error)} if str(error) else {}))
            return cut(request)
        except (asyncio.CancelledError, ConnectionError):
            self.history.record(Kind.ANSWER, req=number, client_gone=True)
            raise
        except Exception as error:
            self.history.record(Kind.BUG, req=number, error=f"{type(error).__name__}: {error}")
            self._refuse(number, internal_error(str(error)))
            raise

    def _refuse(self, number: int, error: ApiError) -> web.Response:
        self.history.record(Kind.ANSWER, req=number, code=error.code, reason=error.reason, message=error.message)
        if error.plain is not None:
            return web.Response(status=error.code, text=error.plain, headers=error.headers)
        return json_response(error.code, error.status(), error.headers)

    def record_call(self, request: web.Request, call: Call) -> None:
        target = call.target
        body = {} if call.body is None else {"body": call.body}
        self.history.record(
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

    async def shielded(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Finish what was begun, even when its client leaves, as a server does."""
        task = asyncio.create_task(work)
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        return await asyncio.shield(task)


def split_user(path: str) -> tuple[str, str]:
    """Take the client's name off a path, where its kubeconfig put it.

    >>> split_user("/as/scheduler-a/api/v1/pods")
    ('scheduler-a', '/api/v1/pods')
    """
    if not path.startswith(USER_PATH):
        return "", path
    user, _, rest = path.removeprefix(USER_PATH).partition("/")
    return user, f"/{rest}"


def json_response(code: int, body: JsonObject, headers: dict[str, str] | None = None) -> web.Response:
    return web.Response(status=code, body=msgspec.json.encode(body), content_type="application/json", headers=headers)


async def stream(request: web.Request, content_type: str) -> web.StreamResponse:
    response = web.StreamResponse(headers={"Content-Type": content_type})
    response.enable_chunked_encoding()
    await response.prepare(request)
    return response


def cut(request: web.Request) -> web.StreamResponse:
    """Close the connection at once; the response that is returned goes nowhere."""
    if request.transport is not None:
        request.transport.abort()
    return web.Response()
