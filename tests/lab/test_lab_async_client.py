"""The API stand-in with kubernetes_asyncio, as the triggerer uses it."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import pytest
from aiohttp import ClientError
from kubernetes_asyncio import client, config, watch
from kubernetes_asyncio.client.exceptions import ApiException
from lab_cluster import PATIENCE, Cluster, pod

if TYPE_CHECKING:
    from collections.abc import AsyncIterator


@asynccontextmanager
async def core(cluster: Cluster) -> AsyncIterator[client.CoreV1Api]:
    configuration = client.Configuration()
    await config.load_kube_config(config_file=str(cluster.kubeconfig), client_configuration=configuration)
    async with client.ApiClient(configuration) as api, asyncio.timeout(PATIENCE):
        yield client.CoreV1Api(api)


def test_a_pod_from_creation_to_its_log(cluster: Cluster) -> None:
    async def story() -> tuple[list[str], str]:
        async with core(cluster) as api:
            await api.create_namespaced_pod("default", pod("one", "echo hello"))
            phases: list[str] = []
            query = {"field_selector": "metadata.name=one", "resource_version": "0", "timeout_seconds": PATIENCE}
            async with watch.Watch().stream(api.list_namespaced_pod, "default", **query) as events:
                async for event in events:
                    phases.append(event["object"].status.phase)
                    if phases[-1] == "Succeeded":
                        break
            answer = await api.read_namespaced_pod_log(
                "one", "default", container="base", timestamps=True, _preload_content=False
            )
            return phases, (await answer.read()).decode()

    phases, log = asyncio.run(story())
    assert phases[-1] == "Succeeded"
    assert log.endswith(" hello\n")


def test_events_of_a_pod(cluster: Cluster) -> None:
    async def story() -> list[str]:
        async with core(cluster) as api:
            await api.create_namespaced_pod("default", pod("one"))
            await asyncio.to_thread(cluster.until_phase, "one", "Succeeded")
            found = await api.list_namespaced_event(
                "default",
                field_selector="involvedObject.name=one",
                resource_version="0",
                resource_version_match="NotOlderThan",
            )
            assert all(event.involved_object.name == "one" and event.metadata.uid for event in found.items)
            return [event.reason for event in found.items]

    assert set(asyncio.run(story())) == {"Scheduled", "Started"}


def test_errors_and_deletion(cluster: Cluster) -> None:
    async def story() -> None:
        async with core(cluster) as api:
            with pytest.raises(ApiException) as error:
                await api.read_namespaced_pod("none", "default")
            assert error.value.status == 404
            await api.create_namespaced_pod("default", pod("one", nodeName="no-such-node"))
            options = client.V1DeleteOptions(grace_period_seconds=0)
            await api.delete_namespaced_pod("one", "default", body=options)
            assert (await api.list_namespaced_pod("default")).items == []

    asyncio.run(story())


def test_a_dropped_watch(cluster: Cluster) -> None:
    cluster.arm("watch-drop", count=1)

    async def story() -> None:
        async with core(cluster) as api:
            await api.create_namespaced_pod("default", pod("one", nodeName="no-such-node"))
            query = {"resource_version": "0", "timeout_seconds": PATIENCE}
            async with watch.Watch().stream(api.list_namespaced_pod, "default", **query) as events:
                async for _event in events:
                    pytest.fail("the event was to be lost")

    with pytest.raises(ClientError):
        asyncio.run(story())
    assert cluster.fired() == 1
