"""What Airflow's processes in the lab import: this folder is on their PYTHONPATH."""  # noqa: INP001  no package: it stands on the path by itself

from __future__ import annotations

import contextlib
import json
import os
import socket
import time
import urllib.error
import urllib.request
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

TRIES = 3


def pod_hostname() -> str:
    """Give the pod's host name: Airflow tells a worker's repeated request from another's by it."""
    return os.environ.get("HOSTNAME") or socket.gethostname()


@contextlib.contextmanager
def user_code(part: str, ti: Any) -> Iterator[None]:  # noqa: ANN401  the task SDK's, which the lab does not import
    """Write into the lab's history that user code begins and ends.

    Args:
        part: which piece of the task's user code: a task that deferred has two.
        ti: the task instance of the context.
    """
    about = {
        "part": part,
        "ti": str(ti.id),
        "task_id": ti.task_id,
        "run_id": ti.run_id,
        "map_index": -1 if ti.map_index is None else ti.map_index,
        "try": ti.try_number,
        "pod": pod_hostname(),
    }
    _record(1, "user.begin", about)
    try:
        yield
    finally:
        _record(2, "user.end", about)


def _record(number: int, kind: str, about: dict[str, Any]) -> None:
    source = f"user-{about['pod']}-{about['part']}-{os.getpid()}"
    url = os.environ.get("LAUNCHGUARD_LAB_HISTORY_URL")
    if url:
        _tell(url, {"src": source, "seq": number, "kind": kind, "about": about})
        return
    entry = {"t": time.monotonic_ns(), "src": source, "seq": number, "kind": kind, **about}
    file = os.open(os.environ["LAUNCHGUARD_LAB_HISTORY"], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    try:
        # One write for one line, as the history's other writers do.
        os.write(file, json.dumps(entry).encode() + b"\n")
    finally:
        os.close(file)


def _tell(url: str, line: dict[str, Any]) -> None:
    """Send a line to the lab, for a pod that shares no file with it: its clock need not be the lab's either."""
    request = urllib.request.Request(url, json.dumps(line).encode(), method="POST")  # noqa: S310  the lab's own, http
    # The image's proxies have no business here.
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for attempt in range(TRIES):
        try:
            opener.open(request, timeout=10).close()
        except urllib.error.HTTPError:
            raise
        except OSError:
            if attempt + 1 == TRIES:
                raise
            time.sleep(1)
        else:
            return
