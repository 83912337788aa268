"""What faults do to one pod before its containers run."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Final

from launchguard.lab.actions import Action, Point
from launchguard.lab.kube.status import ApiError
from launchguard.lab.kubelet.containers import ContainerRecord, Terminated, Waiting
from launchguard.lab.kubelet.subject import pod_subject

if TYPE_CHECKING:
    from launchguard.lab.faults import Firing
    from launchguard.lab.kubelet.podrecord import PodRecord

_OOM_EXIT: Final = 137
# What a kubelet writes for a container that never started.
_EPOCH: Final = "1970-01-01T00:00:00Z"


class Troubles:
    """The faults that strike a pod, drawn once when its node takes it."""

    def __init__(self, record: PodRecord) -> None:
        self._record = record
        self._firings = record.node.faults.draw(Point.START, pod_subject(record.pod))
        self._no_pull_before: float | None = 0.0
        self._pull_message = ""

    def rejected(self) -> bool:
        """Turn the pod away, if a fault says so."""
        for firing in self._firings:
            if firing.action is Action.REJECTED:
                self._record.reject(firing.params["reason"], firing.params["message"])
                return True
        return False

    async def before_start(self) -> None:
        """Suffer what happens before any container is made.

        Raises:
            Stopped: the pod is to end.
        """
        for firing in self._firings:
            match firing.action:
                case Action.SLOW_START:
                    await self._record.pause(firing.params["seconds"])
                case Action.DRAINED:
                    await self._drained()
                case Action.IMAGE_PULL:
                    self._no_pull(firing)
                case _:
                    pass

    async def _drained(self) -> None:
        try:
            self._record.node.registry.evict(self._record.key, {})
        except ApiError:
            return
        # The eviction marked the pod for deletion, which stops it: wait for that word.
        await self._record.pause(None)

    def _no_pull(self, firing: Firing) -> None:
        seconds = firing.params["seconds"]
        self._no_pull_before = None if seconds is None else time.monotonic() + seconds
        self._pull_message = str(firing.params["message"])

    async def pull(self, container: ContainerRecord) -> None:
        """Wait until the container's image can be had, as a kubelet does: error, back-off, error ...

        Raises:
            Stopped: the pod is to end.
        """
        record, image = self._record, str(container.spec["image"])
        retry, field = record.node.settings.pull_retry, f"spec.containers{{{container.name}}}"
        while message := self._pull_error(image):
            events = record.node.events
            events.warning(record.pod, "Failed", f'Failed to pull image "{image}": {message}', field)
            events.warning(record.pod, "Failed", "Error: ErrImagePull", field)
            record.change(container, Waiting("ErrImagePull", message))
            await record.pause(retry / 2)
            back_off = f'Back-off pulling image "{image}": ErrImagePull: {message}'
            events.normal(record.pod, "BackOff", f'Back-off pulling image "{image}"', field)
            record.change(container, Waiting("ImagePullBackOff", back_off))
            await record.pause(retry / 2)

    def _pull_error(self, image: str) -> str:
        if self._no_pull_before is None or time.monotonic() < self._no_pull_before:
            return self._pull_message
        if self._record.node.images.find(image) is None:
            return f'rpc error: code = NotFound desc = failed to resolve reference "{image}": not found'
        return ""

    def instead_of_start(self) -> Terminated | None:
        """Give the state in which a container ends without having run, if a fault says so."""
        now = self._record.node.registry.clock.stamp()
        for firing in self._firings:
            if firing.action is Action.OOM_BEFORE_START:
                return Terminated(_OOM_EXIT, "OOMKilled", now, now)
            if firing.action is Action.START_ERROR:
                code, message = int(firing.params["exit_code"]), str(firing.params["message"])
                return Terminated(code, "StartError", _EPOCH, now, message)
        return None
