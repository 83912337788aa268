"""By which address pods reach this machine."""

from __future__ import annotations

import ipaddress
import socket
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from launchguard.errors import LaunchguardError

if TYPE_CHECKING:
    from launchguard.lab.cluster.api import Api

_ANYWHERE: Final = "0.0.0.0"  # noqa: S104  where the pods' address for this machine is none of its own
_FORBIDDEN: Final = 403


async def find_worker_host(api: Api, server: str) -> str:
    """Give this machine's address on the route to the cluster's nodes, or else to its API server.

    A kind cluster's API server listens on loopback, but its nodes are in a network of Docker, whose gateway this is.

    Raises:
        LaunchguardError: there is no telling.
    """
    found = await api.ask("GET", "/api/v1/nodes", query={"limit": "1"}, accept=[_FORBIDDEN])
    nodes = found.json.get("items") or []
    told = [one["address"] for node in nodes for one in node["status"]["addresses"] if one["type"] == "InternalIP"]
    host = told[0] if told else urlsplit(server).hostname or ""
    mine = _address_towards(host)
    if not mine or (not told and ipaddress.ip_address(mine).is_loopback):
        raise LaunchguardError("cannot tell by which address pods reach this machine: name it with --worker-host")
    return mine


def _address_towards(host: str) -> str:
    """Give the address that packets to a host would leave from; empty where no route leads there."""
    try:
        family, kind, *_, address = socket.getaddrinfo(host, 9, type=socket.SOCK_DGRAM)[0]
        with socket.socket(family, kind) as probe:
            # No packet is sent: this only looks up the route.
            probe.connect(address)
            return str(probe.getsockname()[0])
    except OSError:
        return ""


def listening_address(host: str) -> str:
    """Give where to listen so that pods that ask for `host` are heard."""
    try:
        family, kind, *_, address = socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind) as probe:
            probe.bind(address)
    except OSError:
        return _ANYWHERE
    return str(address[0])
