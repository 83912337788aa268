"""The way into a real cluster: TLS, tokens, rights, a namespace; and out of it, with nothing left behind."""

from __future__ import annotations

import asyncio
import base64
import contextlib
import shutil
import ssl
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import aiohttp
import pytest
from aiohttp import web
from lab_cluster import Cluster, pod
from lab_joined import NAMESPACE, client_of, joined_in, place_of

from launchguard.errors import LaunchguardError
from launchguard.lab.cluster import home, route
from launchguard.lab.cluster.api import Api
from launchguard.lab.cluster.home import leave, settle
from launchguard.lab.cluster.kubectl import Kubectl, find_kubectl
from launchguard.lab.cluster.route import find_worker_host, listening_address
from launchguard.lab.cluster.running import joined
from launchguard.lab.inloop import loop_thread
from launchguard.lab.kubeconfig import write_kubeconfig

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterator
    from pathlib import Path

TOKEN = "the-right-token"


# TLS and a token before the stand-in


@pytest.fixture
def certificate(tmp_path: Path) -> tuple[Path, Path]:
    """Give a certificate for 127.0.0.1 and its key."""
    if shutil.which("openssl") is None:
        pytest.skip("there is no openssl, which makes the certificate")
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    words = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "1"]
    names = ["-subj", "/CN=lab", "-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(["openssl", *words, *names, "-keyout", key, "-out", cert], check=True, capture_output=True)
    return cert, key


@contextlib.contextmanager
def guarded(upstream: str, certificate: tuple[Path, Path]) -> Iterator[str]:
    """Put TLS and a token before a server."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(*certificate)

    async def ask(request: web.Request) -> web.StreamResponse:
        if request.headers.get("Authorization") != f"Bearer {TOKEN}":
            status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Unauthorized", "code": 401}
            return web.json_response({**status, "message": "Unauthorized"}, status=401)
        body, kind = await request.read(), {"Content-Type": request.headers.get("Content-Type", "application/json")}
        url = f"{upstream}{request.raw_path}"
        asked = aiohttp.request(request.method, url, data=body or None, headers=kind, timeout=aiohttp.ClientTimeout())
        async with asked as answer:
            given = web.StreamResponse(status=answer.status, headers={"Content-Type": answer.content_type})
            await given.prepare(request)
            async for chunk in answer.content.iter_any():
                await given.write(chunk)
            return given

    async def serve() -> tuple[web.AppRunner, int]:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", ask)
        runner = web.AppRunner(app, access_log=None, handler_cancellation=True, shutdown_timeout=0.1)
        await runner.setup()
        await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
        return runner, int(runner.addresses[0][1])

    with loop_thread("guard") as inside:
        runner, port = inside.wait(serve())
        try:
            yield f"https://127.0.0.1:{port}"
        finally:
            inside.wait(runner.cleanup())


def kubeconfig(path: Path, server: str, *, authority: Path | None, token: str = TOKEN) -> Path:
    """Write a kubeconfig as clusters have it: YAML, with a certificate authority and a token."""
    data = base64.b64encode(authority.read_bytes()).decode() if authority else ""
    path.write_text(
        f"""
apiVersion: v1
kind: Config
current-context: lab
clusters:
- name: lab
  cluster:
    server: {server}
    {f"certificate-authority-data: {data}" if data else ""}
users:
- name: me
  user: {{token: {token}}}
contexts:
- name: lab
  context: {{cluster: lab, user: me}}
"""
    )
    return path


def test_a_cluster_behind_tls_and_a_token(cluster: Cluster, certificate: tuple[Path, Path], tmp_path: Path) -> None:
    with guarded(cluster.running.url, certificate) as server:
        path = kubeconfig(tmp_path / "real", server, authority=certificate[0])
        with place_of(path) as place, joined(tmp_path / "near", place, seed=0) as near:
            core = client_of(write_kubeconfig(tmp_path / "through", near.url, user="scheduler-a"))
            body = pod("one")
            body["metadata"]["labels"] = near.cluster.home.labels
            with core.api_client:
                core.create_namespaced_pod(NAMESPACE, body)
                watched = core.list_namespaced_pod(NAMESPACE, watch=True, timeout_seconds=1, _preload_content=False)
                assert b'"one"' in watched.read()
            assert "one" in [one.metadata.name for one in cluster.core.list_namespaced_pod(NAMESPACE).items]
    told = (tmp_path / "near" / "history.jsonl").read_text()
    assert TOKEN not in told
    assert TOKEN not in (tmp_path / "through").read_text()


@pytest.mark.parametrize(
    ("trusted", "token", "told"),
    [(True, "the-wrong-token", "Unauthorized"), (False, TOKEN, "certificate signed by unknown authority")],
)
def test_a_cluster_that_does_not_take_us(
    cluster: Cluster, certificate: tuple[Path, Path], *, trusted: bool, token: str, told: str
) -> None:
    with guarded(cluster.running.url, certificate) as server:
        authority = certificate[0] if trusted else None
        path = kubeconfig(cluster.folder / "real", server, authority=authority, token=token)
        with pytest.raises(LaunchguardError, match=told) as error, place_of(path):
            pass
    assert str(error.value).startswith(f"cannot use the cluster of {path}: ")
    assert "\n" not in str(error.value)


# Errors on the way


def test_a_kubeconfig_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(LaunchguardError, match="there is no kubeconfig"), place_of(tmp_path / "no"):
        pass


def test_a_cluster_that_does_not_answer(tmp_path: Path) -> None:
    path = write_kubeconfig(tmp_path / "kubeconfig", "http://127.0.0.1:9")
    with pytest.raises(LaunchguardError, match=r"cannot use the cluster of .*refused"), place_of(path):
        pass


def test_a_context_that_is_not_there(cluster: Cluster) -> None:
    with pytest.raises(LaunchguardError, match='context "other" does not exist'):
        Kubectl(find_kubectl(), cluster.kubeconfig, "other").server()


def test_a_machine_without_kubectl(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(LaunchguardError, match="--kubeconfig needs kubectl"):
        find_kubectl()


def test_a_proxy_that_does_not_come_up(tmp_path: Path) -> None:
    program = tmp_path / "kubectl"
    program.write_text("#!/bin/sh\necho 'no such flag' >&2\nexit 1\n")
    program.chmod(0o755)
    with pytest.raises(LaunchguardError, match="kubectl proxy did not come up: no such flag"):
        Kubectl(str(program), tmp_path / "kubeconfig").proxy().__enter__()


def test_the_proxy_ends_with_its_context(cluster: Cluster) -> None:
    with Kubectl(find_kubectl(), cluster.kubeconfig).proxy() as socket:
        assert socket.exists()
        assert socket.parent.stat().st_mode & 0o77 == 0
    assert not socket.parent.exists()


# A home


@contextlib.contextmanager
def answering(answer: Callable[[web.Request], Awaitable[web.Response]], folder: Path) -> Iterator[Path]:
    """Serve an API of few words on a socket."""

    async def serve() -> web.AppRunner:
        app = web.Application()
        app.router.add_route("*", "/{path:.*}", answer)
        runner = web.AppRunner(app, access_log=None)
        await runner.setup()
        await web.UnixSite(runner, str(folder / "api")).start()
        return runner

    with loop_thread("api") as inside:
        runner = inside.wait(serve())
        yield folder / "api"
        inside.wait(runner.cleanup())


def use(socket: Path, work: Callable[[Api], Awaitable[Any]]) -> Any:
    async def used() -> Any:
        api = Api(socket)
        try:
            return await work(api)
        finally:
            await api.close()

    return asyncio.run(used())


@pytest.fixture
def short(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Give a folder whose path is short enough for a socket."""
    return tmp_path_factory.mktemp("s")


def allowing(
    *allowed: str, may_make: bool = True
) -> tuple[list[str], Callable[[web.Request], Awaitable[web.Response]]]:
    """Give an API that allows some verbs, and the list of what it was asked."""
    asked: list[str] = []

    async def answer(request: web.Request) -> web.Response:
        asked.append(f"{request.method} {request.path}")
        if request.path.endswith("selfsubjectaccessreviews"):
            wanted = (await request.json())["spec"]["resourceAttributes"]
            return web.json_response({"status": {"allowed": wanted["verb"] in allowed}}, status=201)
        if request.path == "/api/v1/namespaces" and not may_make:
            return web.json_response({"message": "no"}, status=403)
        return web.json_response({}, status=201 if request.method == "POST" else 200)

    return asked, answer


def test_missing_rights_are_told_all_at_once_and_the_namespace_is_left(short: Path) -> None:
    asked, answer = allowing("get", "list", "watch", "patch", "deletecollection")
    with (
        answering(answer, short) as socket,
        pytest.raises(LaunchguardError, match="may not: create pods, delete pods, create pods/eviction, create config"),
    ):
        use(socket, settle)
    assert asked[0] == "POST /api/v1/namespaces"
    assert asked[-1].startswith("DELETE /api/v1/namespaces/launchguard-lab-")


def test_who_may_not_make_a_namespace_is_told_what_to_do(short: Path) -> None:
    _, answer = allowing(may_make=False)
    with answering(answer, short) as socket, pytest.raises(LaunchguardError, match=r"name one .* with --namespace"):
        use(socket, settle)


def test_a_namespace_that_is_not_there(tmp_path: Path, cluster: Cluster) -> None:
    with (
        place_of(cluster.kubeconfig, "nowhere") as place,
        pytest.raises(LaunchguardError, match="there is no namespace 'nowhere'"),
        joined(tmp_path / "near", place, seed=0),
    ):
        pass


def test_nothing_is_left_behind(tmp_path: Path) -> None:
    with joined_in(tmp_path) as both:
        far, selector = both.far, both.near.cluster.home.selector
        both.far.create(pod("theirs", "sleep 60"))
        both.create("one", "sleep 60")
        both.until_phases("Running")
        maps = far.core.list_namespaced_config_map(NAMESPACE, label_selector=selector).items
        assert {name for one in maps for name in one.data} == {"launchguard_lab_dags.py", "launchguard_lab_site.py"}
        api = both.near.cluster.observer._api
        both.near.wait(leave(api, both.near.cluster.home))
        assert not far.core.list_namespaced_config_map(NAMESPACE, label_selector=selector).items
        assert [one.metadata.name for one in far.core.list_namespaced_pod(NAMESPACE).items] == ["theirs"]


def test_a_namespace_of_its_own_is_made_and_what_cannot_go_is_told(
    tmp_path: Path, cluster: Cluster, capsys: pytest.CaptureFixture[str]
) -> None:
    with place_of(cluster.kubeconfig, "") as place, joined(tmp_path / "near", place, seed=0) as near:
        name = near.cluster.home.namespace
        assert name in [one.metadata.name for one in cluster.core.list_namespace().items]
    # The stand-in has no garbage collector, so that it deletes no namespace.
    assert f"the namespace {name} is left in the cluster" in capsys.readouterr().err


def test_pods_that_do_not_go_are_told(
    short: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    async def answer(_request: web.Request) -> web.Response:
        return web.json_response({"items": [{}]})

    monkeypatch.setattr(home, "_GONE_WITHIN", 0.1)
    with answering(answer, short) as socket:
        use(socket, lambda api: leave(api, home.Home("a", "b")))
    assert (
        "something of the lab is left in the cluster (label launchguard-lab=b): its pods do not end"
        in capsys.readouterr().err
    )


# The way back


def nodes(*addresses: str, code: int = 200) -> Callable[[web.Request], Awaitable[web.Response]]:
    async def answer(_request: web.Request) -> web.Response:
        told = [{"type": "Hostname", "address": "n"}, *({"type": "InternalIP", "address": one} for one in addresses)]
        return web.json_response({"items": [{"status": {"addresses": told}}]} if code < 400 else {}, status=code)

    return answer


def test_pods_reach_us_on_the_route_to_their_nodes(short: Path) -> None:
    with answering(nodes("127.0.1.1"), short) as socket:
        assert use(socket, lambda api: find_worker_host(api, "https://10.0.0.1:6443")) == "127.0.0.1"


@pytest.mark.parametrize("server", ["https://127.0.0.1:6443", "https://no.such.host.invalid:6443"])
def test_where_nodes_may_not_be_seen_loopback_is_no_answer(short: Path, server: str) -> None:
    with answering(nodes(code=403), short) as socket, pytest.raises(LaunchguardError, match="with --worker-host"):
        use(socket, lambda api: find_worker_host(api, server))


def test_the_route_to_the_server_is_the_next_best(short: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(route, "_address_towards", {"10.0.0.1": "10.0.0.9"}.get)
    with answering(nodes(code=403), short) as socket:
        assert use(socket, lambda api: find_worker_host(api, "https://10.0.0.1:6443")) == "10.0.0.9"


def test_where_a_hosts_name_is_not_ours_everything_is_listened_to() -> None:
    assert listening_address("127.0.0.1") == "127.0.0.1"
    assert listening_address("192.0.2.1") == "0.0.0.0"
    assert listening_address("no.such.host.invalid") == "0.0.0.0"
