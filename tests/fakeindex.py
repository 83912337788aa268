"""A small package index over HTTP, with faults on demand."""

from __future__ import annotations

import contextlib
import hashlib
import json
import re
import threading
from collections import defaultdict
from dataclasses import dataclass, field
from enum import Enum, auto
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class Fault(Enum):
    """What goes wrong with one request."""

    ERROR = auto()  # 500
    MISSING = auto()  # 404, though it is listed
    TRUNCATE = auto()  # half of the promised bytes, then the connection ends
    STALL = auto()  # half of the promised bytes, then nothing until the index stops


@dataclass(frozen=True)
class Asked:
    """One request, as it came in."""

    path: str
    range: str | None
    authorization: str | None


@dataclass
class Index:
    """What the index serves.

    Args:
        files: content by file name; a project is listed when it has a file.
        faults: what shall go wrong with the next requests for a file or project, first to last.
        html: answer as an index of the old kind.
        ranges: whether a part of a file can be had.
        lengths: whether an answer says how long it is.
        authorization: the header that every request must carry.
        pages: content and type of a project's page, instead of the good one.
        asked: every request so far.
    """

    url: str = ""
    files: dict[str, bytes] = field(default_factory=dict)
    faults: dict[str, list[Fault]] = field(default_factory=lambda: defaultdict(list))
    html: bool = False
    ranges: bool = True
    lengths: bool = True
    authorization: str = ""
    pages: dict[str, tuple[bytes, str]] = field(default_factory=dict)
    asked: list[Asked] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)

    def add(self, folder: Path) -> None:
        """Serve every sdist of a folder, such as `<project>/sdists`."""
        self.files |= {path.name: path.read_bytes() for path in folder.glob("*.tar.gz")}

    def asked_for(self, file: str) -> list[Asked]:
        return [one for one in self.asked if one.path.endswith(f"/{file}")]

    def listing(self, project: str) -> list[str]:
        return [name for name in self.files if _project_of(name) == project]


def _project_of(file: str) -> str:
    if file.endswith(".whl"):
        return file.partition("-")[0]
    return re.sub(r"[-_.]+", "-", file.rpartition("-")[0]).lower()


@contextlib.contextmanager
def serve() -> Iterator[Index]:
    """Run an index on a free port of loopback until the block ends."""
    index = Index()
    handler = type("Handler", (_Handler,), {"index": index})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        thread.start()
        index.url = f"http://127.0.0.1:{server.server_port}/simple/"
        try:
            yield index
        finally:
            index.stopped.set()
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    index: Index

    def do_GET(self) -> None:
        self.index.asked.append(Asked(self.path, self.headers["Range"], self.headers["Authorization"]))
        kind, _, name = self.path.strip("/").rpartition("/")
        faults = self.index.faults[name]
        fault = faults.pop(0) if faults else None
        if self.index.authorization not in ("", self.headers["Authorization"]):
            self.answer(401, b"who are you?")
        elif fault is Fault.ERROR:
            self.answer(500, b"broken")
        elif fault is Fault.MISSING:
            self.answer(404, b"gone")
        elif kind == "simple" and name in self.index.pages:
            self.answer(200, *self.index.pages[name])
        elif kind == "simple" and self.index.listing(name):
            self.answer(200, *self.page(name), fault=fault)
        elif kind == "files" and name in self.index.files:
            self.file(self.index.files[name], fault)
        else:
            self.answer(404, b"no such thing")

    def page(self, project: str) -> tuple[bytes, str]:
        hashes = {name: hashlib.sha256(self.index.files[name]).hexdigest() for name in self.index.listing(project)}
        if self.index.html:
            links = "".join(f'<a href="/files/{name}#sha256={at}">{name}</a><br/>\n' for name, at in hashes.items())
            return f"<!DOCTYPE html><html><body>{links}</body></html>".encode(), "text/html"
        files = [{"filename": name, "url": f"/files/{name}", "hashes": {"sha256": at}} for name, at in hashes.items()]
        page = {"meta": {"api-version": "1.0"}, "name": project, "files": files}
        return json.dumps(page).encode(), "application/vnd.pypi.simple.v1+json"

    def file(self, content: bytes, fault: Fault | None) -> None:
        wanted = re.fullmatch(r"bytes=(\d+)-", self.headers["Range"] or "")
        if wanted is None or not self.index.ranges:
            self.answer(200, content, fault=fault)
        elif int(wanted[1]) >= len(content):
            self.answer(416, b"")
        else:
            self.answer(206, content[int(wanted[1]) :], fault=fault)

    def answer(self, status: int, content: bytes, kind: str = "text/plain", *, fault: Fault | None = None) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        if self.index.lengths:
            self.send_header("Content-Length", str(len(content)))
        else:
            self.send_header("Connection", "close")
        self.end_headers()
        with contextlib.suppress(ConnectionError):
            self.wfile.write(content[: len(content) // 2] if fault else content)
            self.wfile.flush()
        if fault:
            self.close_connection = True
        if fault is Fault.STALL:
            self.index.stopped.wait(60)

    def log_message(self, *_words: object) -> None:
        """Keep quiet."""
