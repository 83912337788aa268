"""Stand-in for the Kubernetes API as far as creating pods needs it: answers after a set time, keeps nothing.

The laboratory's stand-in does the whole of it, and with that costs more time than what is measured here.
"""

from __future__ import annotations

import asyncio
import sys
import uuid
from typing import Any

from aiohttp import web


class PodApi:
    """Answers creations; a watch never hears of anything."""

    def __init__(self) -> None:
        self.latency = 0.0
        """Seconds that a creation takes."""

    def app(self) -> web.Application:
        app = web.Application()
        app.add_routes(
            [
                web.put("/latency/{seconds}", self._set_latency),
                web.post("/as/{user}/api/v1/namespaces/{namespace}/pods", self._create),
                web.get("/as/{user}/api/v1/namespaces/{namespace}/pods", self._list),
            ]
        )
        return app

    async def _set_latency(self, request: web.Request) -> web.Response:
        self.latency = float(request.match_info["seconds"])
        return web.json_response({})

    async def _create(self, request: web.Request) -> web.Response:
        pod = await request.json()
        if self.latency:
            await asyncio.sleep(self.latency)
        made = {"uid": str(uuid.uuid4()), "resourceVersion": "2", "creationTimestamp": "2026-01-01T00:00:00Z"}
        pod["metadata"] |= made
        return web.json_response(pod | {"status": {"phase": "Pending"}}, status=201)

    async def _list(self, request: web.Request) -> web.StreamResponse:
        if not request.query.get("watch"):
            return web.json_response(_EMPTY)
        stream = web.StreamResponse()
        await stream.prepare(request)
        await asyncio.Event().wait()
        return stream


_EMPTY: dict[str, Any] = {"apiVersion": "v1", "kind": "PodList", "metadata": {"resourceVersion": "1"}, "items": []}


async def serve() -> None:
    """Serve on a free port of loopback, which is told on stdout, until stdin ends."""
    runner = web.AppRunner(PodApi().app(), access_log=None, shutdown_timeout=0.1)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0).start()
    print(f'{{"url": "http://127.0.0.1:{runner.addresses[0][1]}"}}', flush=True)
    await asyncio.to_thread(sys.stdin.read)
    await runner.cleanup()


if __name__ == "__main__":
    asyncio.run(serve())
