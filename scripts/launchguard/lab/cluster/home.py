"""Where in a real cluster the lab is at home: a namespace, its marks on what it makes, and no trace afterwards."""

from __future__ import annotations

import asyncio
import contextlib
import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from launchguard import console
from launchguard.errors import LaunchguardError
from launchguard.lab.cluster.api import pod_path

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from launchguard.lab.cluster.api import Api

LABEL: Final = "launchguard-lab"
_NAMESPACES: Final = "/api/v1/namespaces"
_REVIEWS: Final = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
_CREATED, _FORBIDDEN, _NOT_FOUND, _NOT_ALLOWED = 201, 403, 404, 405
_GONE_WITHIN: Final = 60.0
_LOOK_AGAIN: Final = 0.2
# What the lab does in its namespace, by its own hand or by Airflow's.
_NEEDS: Final = (
    *((verb, "pods", "") for verb in ("create", "get", "list", "watch", "patch", "delete", "deletecollection")),
    ("create", "pods", "eviction"),
    *((verb, "configmaps", "") for verb in ("create", "deletecollection")),
)


@dataclass(frozen=True, slots=True)
class Home:
    """A place of the lab's own.

    Args:
        mark: the value of the label that all of it carries.
        own: whether the namespace is the lab's, too.
    """

    namespace: str
    mark: str
    own: bool = False

    @property
    def labels(self) -> dict[str, str]:
        return {LABEL: self.mark}

    @property
    def selector(self) -> str:
        return f"{LABEL}={self.mark}"


async def settle(api: Api, namespace: str = "") -> Home:
    """Find a place in the cluster.

    Args:
        namespace: one that is there; empty makes one.

    Raises:
        LaunchguardError: there is no such namespace, or a right is missing.
    """
    home = Home(namespace, secrets.token_hex(4)) if namespace else await _own_namespace(api)
    try:
        if namespace:
            await _check_namespace(api, namespace)
        await _check_rights(api, home)
    except BaseException:
        await _leave_namespace(api, home)
        raise
    return home


async def _own_namespace(api: Api) -> Home:
    mark = secrets.token_hex(4)
    home = Home(f"{LABEL}-{mark}", mark, own=True)
    about = {"name": home.namespace, "labels": home.labels}
    body = {"apiVersion": "v1", "kind": "Namespace", "metadata": about}
    made = await api.ask("POST", _NAMESPACES, body, accept=[_FORBIDDEN])
    if made.code == _FORBIDDEN:
        raise LaunchguardError("this user may not create a namespace: name one that may be used with --namespace")
    return home


async def _check_namespace(api: Api, namespace: str) -> None:
    found = await api.ask("GET", f"{_NAMESPACES}/{namespace}", accept=[_FORBIDDEN, _NOT_FOUND])
    # Many users may use a namespace and not look at it.
    if found.code == _NOT_FOUND:
        raise LaunchguardError(f"there is no namespace {namespace!r} in the cluster: name another with --namespace")


async def _check_rights(api: Api, home: Home) -> None:
    """Ask for all rights before anything is begun.

    Raises:
        LaunchguardError: some are missing; the message has all of them.
    """
    allowed = await asyncio.gather(*(_may(api, home.namespace, *need) for need in _NEEDS))
    missing = [
        f"{verb} {resource}{'/' if part else ''}{part}"
        for (verb, resource, part), may in zip(_NEEDS, allowed, strict=True)
        if not may
    ]
    if missing:
        raise LaunchguardError(f"in namespace {home.namespace} this user may not: {', '.join(missing)}")


async def _may(api: Api, namespace: str, verb: str, resource: str, subresource: str) -> bool:
    wanted = {"namespace": namespace, "verb": verb, "resource": resource, "subresource": subresource}
    body = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectAccessReview",
        "spec": {"resourceAttributes": wanted},
    }
    answer = await api.ask("POST", _REVIEWS, body, accept=[_FORBIDDEN, _NOT_FOUND])
    # A server that does not tell will refuse later.
    return answer.code != _CREATED or bool(answer.json["status"]["allowed"])


async def make_config_map(api: Api, home: Home, name: str, files: Mapping[str, str]) -> None:
    about = {"name": name, "labels": home.labels}
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": about, "data": dict(files)}
    await api.ask("POST", f"{_NAMESPACES}/{home.namespace}/configmaps", body)


async def leave(api: Api, home: Home) -> None:
    """Take away all that carries the lab's mark, and wait until its pods are gone.

    What cannot be taken away is told, and no failure: the runs are played by then.
    """
    marked = {"labelSelector": home.selector}
    pods, now = pod_path(home.namespace), {"gracePeriodSeconds": "0"}
    with _told(home):
        await api.ask("DELETE", pods, query={**marked, **now})
        await api.ask("DELETE", f"{_NAMESPACES}/{home.namespace}/configmaps", query=marked)
        async with asyncio.timeout(_GONE_WITHIN):
            while (await api.ask("GET", pods, query=marked)).json.get("items"):  # noqa: ASYNC110  no watch for this
                await asyncio.sleep(_LOOK_AGAIN)
    with _told(home):
        await _leave_namespace(api, home)


@contextlib.contextmanager
def _told(home: Home) -> Iterator[None]:
    try:
        yield
    except (LaunchguardError, TimeoutError) as error:
        why = str(error) or "its pods do not end"
        console.warn(f"something of the lab is left in the cluster (label {home.selector}): {why}")


async def _leave_namespace(api: Api, home: Home) -> None:
    if home.own:
        path = f"{_NAMESPACES}/{home.namespace}"
        gone = await api.ask("DELETE", path, accept=[_FORBIDDEN, _NOT_FOUND, _NOT_ALLOWED])
        if gone.code in {_FORBIDDEN, _NOT_ALLOWED}:
            console.warn(f"the namespace {home.namespace} is left in the cluster: this user may not delete it")
