"""One pod on its node, from the moment its kubelet sees it to its end."""

from __future__ import annotations

import asyncio
import contextlib
import traceback
from typing import TYPE_CHECKING

from launchguard.lab.broadcast import wait_any
from launchguard.lab.history import Kind
from launchguard.lab.kube.objects import metadata, part
from launchguard.lab.kube.registry import DeleteOptions
from launchguard.lab.kube.resources import PODS
from launchguard.lab.kube.status import ApiError
from launchguard.lab.kubelet.podrecord import PodRecord, Stopped
from launchguard.lab.kubelet.runner import ContainerRunner
from launchguard.lab.kubelet.troubles import Troubles

if TYPE_CHECKING:
    from launchguard.lab.kube.objects import JsonObject
    from launchguard.lab.kubelet.podrecord import Node
    from launchguard.lab.kubelet.podstatus import Placement


class PodWorker:
    """Runs a pod. Its life begins with its construction, in a task of its own."""

    def __init__(self, node: Node, pod: JsonObject, placement: Placement) -> None:
        self.record = PodRecord(node, pod, placement)
        self._runner = ContainerRunner(self.record)
        self._force = asyncio.Event()
        self._gone = False
        self._killing: asyncio.Task[None] | None = None
        self._life = asyncio.create_task(self._live(), name=f"pod {self.record.key.name}")

    @property
    def idle(self) -> bool:
        return self._life.done()

    async def ended(self) -> None:
        """Wait until nothing of the pod runs and its last status is written."""
        await asyncio.wait([self._life])

    def terminate(self, grace: float) -> None:
        """End the pod because it is being deleted; a later call can only shorten the grace (seconds)."""
        if grace <= 0:
            self._force.set()
        if not self.record.stop.is_set():
            self.record.stop.set()
            self._killing = asyncio.create_task(self._kill(grace))

    def abandon(self) -> None:
        """Kill what runs at once: the pod's object is gone, there is nothing more to report."""
        self._gone = True
        if not self._life.done():
            self.terminate(0)

    def fail(self, reason: str, message: str) -> None:
        """End the pod by the kubelet's own decision, as for Evicted; its object stays."""
        if not self._life.done() and not self.record.stop.is_set():
            self.record.failure = (reason, message)
            self.terminate(0)

    def kill_for_memory(self) -> None:
        """Kill all that runs, as the kernel does to a container beyond its limit."""
        self._runner.kill("OOMKilled")

    async def _kill(self, grace: float) -> None:
        if self._runner.busy and not self._force.is_set():
            self.record.node.events.normal(self.record.pod, "Killing", "Stopping container")
        self._runner.terminate()
        patience = asyncio.create_task(wait_any(self._force, timeout=grace))
        await asyncio.wait({self._life, patience}, return_when=asyncio.FIRST_COMPLETED)
        patience.cancel()
        self._runner.kill()

    async def _live(self) -> None:
        deadline = part(self.record.pod, "spec").get("activeDeadlineSeconds")
        message = "Pod was active on the node longer than the specified deadline"
        timer = deadline and asyncio.get_running_loop().call_later(deadline, self.fail, "DeadlineExceeded", message)
        try:
            await self._run()
        except Stopped:
            self._report_end()
        except Exception:  # noqa: BLE001  recorded, so that no verdict is built on this run
            self.record.node.history.record(Kind.BUG, **self.record.about, error=traceback.format_exc())
        finally:
            if timer:
                timer.cancel()

    async def _run(self) -> None:
        troubles = Troubles(self.record)
        if troubles.rejected():
            return
        self.record.write()
        await troubles.before_start()
        await self._runner.run(troubles)

    def _report_end(self) -> None:
        """Write the last status; then let the object go, if it is to be deleted."""
        if self._gone:
            return
        self.record.write(terminal=True)
        registry, key = self.record.node.registry, self.record.key
        if "deletionTimestamp" in metadata(registry.store.find(PODS, key) or {}):
            with contextlib.suppress(ApiError):
                registry.delete(PODS, key, DeleteOptions(0, uid=self.record.uid))
