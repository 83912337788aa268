"""The way to the cluster of a kubeconfig: `kubectl proxy`, which knows every kind of credential there is."""

from __future__ import annotations

import contextlib
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from launchguard.errors import LaunchguardError
from launchguard.process import run

if TYPE_CHECKING:
    from collections.abc import Iterator

_UP_WITHIN: Final = 20.0
_GRACE: Final = 5.0
_LOOK_AGAIN: Final = 0.02


def find_kubectl() -> str:
    """Give the kubectl of the tool's own environment, or of the machine.

    Raises:
        LaunchguardError: there is none.
    """
    own = Path(sys.executable).with_name("kubectl")
    found = str(own) if own.exists() else shutil.which("kubectl")
    if found is None:
        raise LaunchguardError("--kubeconfig needs kubectl: install it, or put it on PATH")
    return found


@dataclass(frozen=True)
class Kubectl:
    """kubectl with a kubeconfig.

    Args:
        context: of the kubeconfig; empty for its current one.
    """

    program: str
    kubeconfig: Path
    context: str = ""

    def server(self) -> str:
        """Give the URL of the API server, once it has answered.

        Raises:
            LaunchguardError: it cannot be reached, or does not know the user.
        """
        if not self.kubeconfig.is_file():
            raise LaunchguardError(f"there is no kubeconfig {self.kubeconfig}")
        self._ask("get", "--raw", "/version", "--request-timeout", "15s")
        return self._ask("config", "view", "--minify", "-o", "jsonpath={.clusters[0].cluster.server}")

    def _ask(self, *words: str) -> str:
        done = run(*self._command(*words), check=False)
        if done.code:
            said = done.messages.strip().splitlines() or ["kubectl failed and said nothing"]
            raise LaunchguardError(f"cannot use the cluster of {self.kubeconfig}: {said[-1]}")
        return done.text.strip()

    def _command(self, *words: str) -> list[str]:
        context = ["--context", self.context] if self.context else []
        return [self.program, "--kubeconfig", str(self.kubeconfig), *context, *words]

    @contextlib.contextmanager
    def proxy(self) -> Iterator[Path]:
        """Give a Unix socket behind which the API is, with the user's rights: only this user can open it.

        Raises:
            LaunchguardError: the proxy did not come up.
        """
        # Not in the build folder: the path of a socket may have 107 characters.
        folder = Path(tempfile.mkdtemp(prefix="launchguard-kubectl-"))
        path, log = folder / "api", folder / "log"
        # The server's URL may have a path, as Rancher's have.
        command = self._command("proxy", "--unix-socket", str(path), "--append-server-path")
        try:
            with log.open("wb") as sink, _ended(_started(command, sink.fileno())) as process:
                _await_socket(path, process, log)
                yield path
        finally:
            shutil.rmtree(folder, ignore_errors=True)


def _started(command: list[str], sink: int) -> subprocess.Popen[bytes]:
    # A session of its own: Ctrl-C must leave it there until the lab has tidied up through it.
    return subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sink, stderr=sink, start_new_session=True)


@contextlib.contextmanager
def _ended(process: subprocess.Popen[bytes]) -> Iterator[subprocess.Popen[bytes]]:
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_GRACE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _listens(path: Path) -> bool:
    """Tell whether somebody takes connections there: the socket is there a moment before."""
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


def _await_socket(path: Path, process: subprocess.Popen[bytes], log: Path) -> None:
    until = time.monotonic() + _UP_WITHIN
    while not _listens(path):
        if process.poll() is not None or time.monotonic() > until:
            said = log.read_text(encoding="utf-8", errors="replace").strip().splitlines() or ["it said nothing"]
            raise LaunchguardError(f"kubectl proxy did not come up: {said[-1]}")
        time.sleep(_LOOK_AGAIN)
