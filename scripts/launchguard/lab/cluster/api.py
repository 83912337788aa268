"""The API of a real cluster, as the lab itself uses it and as the relay passes requests on to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, NamedTuple
from urllib.parse import urlencode

import aiohttp
import msgspec
from yarl import URL

from launchguard.errors import LaunchguardError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from launchguard.lab.kube.objects import JsonObject

MERGE: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
# Watches stay open as long as their server likes.
_TIMEOUT: Final = aiohttp.ClientTimeout(total=None, sock_connect=15)
# One watch event is one line, and a pod with its managed fields is long.
_LONGEST_LINE: Final = 4 * 1024 * 1024

Headers = list[tuple[str, str]]


class Answer(NamedTuple):
    """What the cluster answered, whole."""

    code: int
    headers: Headers
    data: bytes

    @property
    def json(self) -> JsonObject:
        """Give the body where it is a JSON object, else an empty one."""
        decoded = decoded_json(self.data)
        return decoded if isinstance(decoded, dict) else {}


class Api:
    """The API behind `kubectl proxy`. Make and use it inside a running event loop.

    Args:
        socket: where that listens.
    """

    def __init__(self, socket: Path) -> None:
        connector = aiohttp.UnixConnector(str(socket), limit=0)
        self._session = aiohttp.ClientSession(
            connector=connector, auto_decompress=False, timeout=_TIMEOUT, read_bufsize=_LONGEST_LINE
        )

    async def close(self) -> None:
        await self._session.close()

    def send(
        self, method: str, path: str, headers: Headers | None = None, data: bytes = b""
    ) -> AbstractAsyncContextManager[aiohttp.ClientResponse]:
        """Begin a request; `path` is sent as it is, with its query."""
        url = URL(f"http://localhost{path}", encoded=True)
        # To read answers: no compression.
        told = [*(headers or []), ("Accept-Encoding", "identity")]
        return self._session.request(method, url, headers=told, data=data or None, allow_redirects=False)

    async def whole(self, method: str, path: str, headers: Headers | None = None, data: bytes = b"") -> Answer:
        async with self.send(method, path, headers, data) as answer:
            return Answer(answer.status, list(answer.headers.items()), await answer.read())

    async def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] | None = None,
        media_type: str = "application/json",
        accept: Sequence[int] = (),
    ) -> Answer:
        """Ask something for the lab itself.

        Args:
            accept: codes that are no failure, besides those of success.

        Raises:
            LaunchguardError: the cluster refuses, or is not reached.
        """
        asked = f"{path}?{urlencode(query)}" if query else path
        data = b"" if body is None else msgspec.json.encode(body)
        try:
            answer = await self.whole(method, asked, [("Content-Type", media_type)], data)
        except aiohttp.ClientError as error:
            raise LaunchguardError(f"the cluster is not reached with {method} {path}: {error}") from error
        if answer.code >= 400 and answer.code not in accept:  # noqa: PLR2004  where failures begin
            why = answer.json.get("message") or answer.data.decode(errors="replace").strip()
            raise LaunchguardError(f"the cluster refuses {method} {path}: {answer.code} {why}")
        return answer


def decoded_json(data: bytes) -> Any:  # noqa: ANN401  JSON
    """Read JSON; None where it is none."""
    try:
        return msgspec.json.decode(data)
    except msgspec.DecodeError:
        return None


def pod_path(namespace: str, name: str = "", subresource: str = "") -> str:
    """Give the path of pods, of one, or of a part of it.

    >>> pod_path("a"), pod_path("a", "b", "eviction")
    ('/api/v1/namespaces/a/pods', '/api/v1/namespaces/a/pods/b/eviction')
    """
    return "/".join(piece for piece in (f"/api/v1/namespaces/{namespace}/pods", name, subresource) if piece)
