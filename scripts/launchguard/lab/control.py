"""The control endpoint: fault rules and commands over HTTP, on a port that stays up when the API is down.

GET    /state            the API's address, and what is running
GET    /faults           rules with their tallies
POST   /faults           arm one rule, or a list of them
DELETE /faults/{id}      disarm one, and give its last tally
POST   /commands         carry out a command, such as {"do": "drain", "node": "lab-node-1"}
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

import msgspec
from aiohttp import web

from launchguard.errors import LaunchguardError
from launchguard.lab.faults import Rule
from launchguard.lab.kube.objects import phase_of
from launchguard.lab.kube.resources import PODS
from launchguard.lab.kube.status import ApiError
from launchguard.lab.plan import Command

if TYPE_CHECKING:
    from aiohttp.typedefs import Handler

    from launchguard.lab.standin import StandIn

_RULES: Final[msgspec.json.Decoder[Rule | list[Rule]]] = msgspec.json.Decoder(Rule | list[Rule])
_COMMANDS: Final[msgspec.json.Decoder[Command]] = msgspec.json.Decoder(Command)


class Control:
    """Serves the control endpoint on loopback."""

    def __init__(self, standin: StandIn) -> None:
        self._standin = standin
        self._runner: web.AppRunner | None = None
        self.url = ""

    async def listen(self, port: int = 0) -> None:
        app = web.Application(middlewares=[_explain_errors])
        app.add_routes(
            [
                web.get("/state", self._state),
                web.get("/faults", self._list),
                web.post("/faults", self._arm),
                web.delete("/faults/{id}", self._disarm),
                web.post("/commands", self._execute),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", port)
        await site.start()
        self.url = f"http://127.0.0.1:{self._runner.addresses[0][1]}"

    async def close(self) -> None:
        if self._runner is not None:
            await self._runner.cleanup()

    async def _state(self, _request: web.Request) -> web.Response:
        phases: dict[str, int] = {}
        for pod in self._standin.store.scan(PODS):
            phases[phase_of(pod)] = phases.get(phase_of(pod), 0) + 1
        api, fired = self._standin.api, dict(self._standin.faults.fired)
        return _json({"api": api.url, "listening": api.listening, "pods": phases, "fired": fired})

    async def _list(self, _request: web.Request) -> web.Response:
        return _json(self._standin.faults.tallies())

    async def _arm(self, request: web.Request) -> web.Response:
        asked = _RULES.decode(await request.read())
        for rule in asked if isinstance(asked, list) else [asked]:
            self._standin.faults.arm(rule)
        return _json(self._standin.faults.tallies())

    async def _disarm(self, request: web.Request) -> web.Response:
        return _json(self._standin.faults.disarm(request.match_info["id"]))

    async def _execute(self, request: web.Request) -> web.Response:
        await self._standin.execute(_COMMANDS.decode(await request.read()))
        return _json({})


@web.middleware
async def _explain_errors(request: web.Request, handler: Handler) -> web.StreamResponse:
    try:
        return await handler(request)
    except (LaunchguardError, msgspec.DecodeError) as error:
        return _json({"error": str(error)}, 400)
    except ApiError as error:
        return _json({"error": error.message}, error.code)


def _json(body: object, code: int = 200) -> web.Response:
    return web.Response(status=code, body=msgspec.json.encode(body), content_type="application/json")
