"""`pods/x/log`: checks what may be asked, then hands the kubelet's files on, growing ones too."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Protocol

from launchguard.lab.crilog import Entry, Excerpt
from launchguard.lab.kube.objects import JsonObject, metadata, parse_stamp, part, uid_of
from launchguard.lab.kube.requests import is_true, whole_number
from launchguard.lab.kube.status import bad_request

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator, Mapping

    from launchguard.lab.broadcast import Broadcast


class GrowingLog(Protocol):
    """A log file, as its reader sees it."""

    @property
    def complete(self) -> bool: ...

    @property
    def grown(self) -> Broadcast: ...

    def entries(self, offset: int = 0) -> Iterator[tuple[Entry, int]]: ...


class LogSource(Protocol):
    """Where logs come from."""

    def find(self, uid: str, container: str, *, previous: bool = False) -> GrowingLog | None: ...


def find_log(source: LogSource, pod: JsonObject, query: Mapping[str, str]) -> GrowingLog:
    """Find the log that a request asks for.

    Raises:
        ApiError: 400, with the real server's words: pod managers match on them.
    """
    name, container = metadata(pod)["name"], _container(pod, query.get("container", ""))
    previous = is_true(query, "previous")
    log = source.find(uid_of(pod), container, previous=previous)
    if log is not None:
        return log
    if previous:
        raise bad_request(f'previous terminated container "{container}" in pod "{name}" not found')
    raise bad_request(f'container "{container}" in pod "{name}" is waiting to start: {_waiting(pod, container)}')


def _container(pod: JsonObject, asked: str) -> str:
    spec, name = part(pod, "spec"), metadata(pod)["name"]
    main = [str(one["name"]) for one in spec.get("containers") or []]
    init = [str(one["name"]) for one in spec.get("initContainers") or []]
    if not asked and len(main) == 1:
        return main[0]
    if not asked:
        before = f" or one of the init containers: [{' '.join(init)}]" if init else ""
        raise bad_request(
            f"a container name must be specified for pod {name}, choose one of: [{' '.join(main)}]{before}"
        )
    if asked not in [*main, *init]:
        raise bad_request(f"container {asked} is not valid for pod {name}")
    return asked


def _waiting(pod: JsonObject, container: str) -> str:
    status = part(pod, "status")
    for one in [*(status.get("initContainerStatuses") or []), *(status.get("containerStatuses") or [])]:
        if one["name"] == container and "waiting" in one["state"]:
            return str(one["state"]["waiting"].get("reason", ""))
    return "ContainerCreating"


def read_excerpt(query: Mapping[str, str], now: datetime) -> Excerpt:
    """Read which part of the log is wanted.

    Raises:
        ApiError: 400.
    """
    seconds, moment = whole_number(query, "sinceSeconds"), query.get("sinceTime")
    if seconds is not None and moment:
        raise bad_request("at most one of `sinceTime` or `sinceSeconds` may be specified")
    try:
        since = parse_stamp(moment) if moment else None
    except ValueError as error:
        raise bad_request(f"sinceTime: {error}") from error
    return Excerpt(
        since=since if seconds is None else now - timedelta(seconds=seconds),
        tail=whole_number(query, "tailLines"),
        limit_bytes=whole_number(query, "limitBytes"),
        timestamps=is_true(query, "timestamps"),
    )


async def send_log(
    log: GrowingLog, excerpt: Excerpt, *, follow: bool, send: Callable[[bytes], Awaitable[None]]
) -> None:
    """Send what the log has, and, if asked to follow it, what it gets until its container has ended."""
    left = excerpt.limit_bytes
    offset, chosen = _first_read(log, excerpt)
    while True:
        # Read before sending: what comes while we send is seen at the next turn.
        ticket, complete = log.grown.ticket(), log.complete
        data = b"".join(entry.shown(timestamps=excerpt.timestamps) for entry in chosen)
        data = data if left is None else data[:left]
        left = None if left is None else left - len(data)
        if data:
            await send(data)
        chosen, offset = _next_read(log, offset) if follow else ([], offset)
        if chosen and left != 0:
            continue
        if not follow or complete or left == 0:
            return
        await ticket.wait()


def _first_read(log: GrowingLog, excerpt: Excerpt) -> tuple[int, list[Entry]]:
    read = list(log.entries())
    return (read[-1][1] if read else 0), list(excerpt.choose(entry for entry, _ in read))


def _next_read(log: GrowingLog, offset: int) -> tuple[list[Entry], int]:
    read = list(log.entries(offset))
    return [entry for entry, _ in read], (read[-1][1] if read else offset)
