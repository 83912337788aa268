"""The containers of one pod as processes: started, started again, ended."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final

from launchguard.lab.kube.objects import part
from launchguard.lab.kubelet.containers import ContainerRecord, Running, Terminated, Waiting
from launchguard.lab.kubelet.environment import ConfigError, argument_list, container_env
from launchguard.lab.kubelet.images import LocalImage
from launchguard.lab.kubelet.podrecord import PodRecord, Stopped
from launchguard.lab.kubelet.process import Command, ContainerProcess, StartError, start_process
from launchguard.lab.kubelet.volumes import rewrite

if TYPE_CHECKING:
    from launchguard.lab.kubelet.podrecord import Node
    from launchguard.lab.kubelet.troubles import Troubles

_CANNOT_EXECUTE: Final = 128
_LONGEST_BACKOFF: Final = 300.0


class ContainerRunner:
    """Runs a pod's containers, one process at a time each."""

    def __init__(self, record: PodRecord) -> None:
        self._record = record
        self._node: Node = record.node
        self._processes: dict[str, ContainerProcess] = {}

    async def run(self, troubles: Troubles) -> None:
        """Run all containers to their end: the init containers one by one, then the others together.

        Raises:
            Stopped: the pod is to end.
        """
        init = [one for one in self._record.containers if one.init]
        main = [one for one in self._record.containers if not one.init]
        for container in init:
            await self._supervise(container, troubles)
            if not container.succeeded:
                return
        results = await asyncio.gather(*(self._supervise(one, troubles) for one in main), return_exceptions=True)
        for result in results:
            if isinstance(result, BaseException):
                raise result

    async def _supervise(self, container: ContainerRecord, troubles: Troubles) -> None:
        """Run a container until the restart policy has nothing more to say."""
        backoff = self._node.settings.restart_backoff
        while not self._record.stop.is_set():
            await troubles.pull(container)
            ending = troubles.instead_of_start() or await self._run_once(container)
            self._record.change(container, ending)
            if self._record.stop.is_set():
                break
            if not self._restarts(container):
                return
            container.last = ending
            container.restarts += 1
            message = (
                f"back-off {backoff:g}s restarting failed container={container.name} "
                f"pod={self._record.key.name}_{self._record.key.namespace}({self._record.uid})"
            )
            self._record.change(container, Waiting("CrashLoopBackOff", message))
            await self._record.pause(backoff)
            backoff = min(backoff * 2, _LONGEST_BACKOFF)
        raise Stopped

    def _restarts(self, container: ContainerRecord) -> bool:
        policy = self._record.policy
        if container.init or policy == "OnFailure":
            return policy != "Never" and not container.succeeded
        return policy == "Always"

    async def _run_once(self, container: ContainerRecord) -> Terminated:
        clock, field = self._node.registry.clock, f"spec.containers{{{container.name}}}"
        command = await self._command(container)
        log = self._node.logs.open("_".join(self._record.key), self._record.uid, container.name)
        about = {**self._record.about, "container": container.name}
        container.cause = ""
        try:
            process = await start_process(command, log, self._node.history, about)
        except StartError as error:
            self._node.events.warning(self._record.pod, "Failed", f"Error: {error}", field)
            now = clock.stamp()
            return Terminated(_CANNOT_EXECUTE, "StartError", now, now, str(error))
        started = clock.stamp()
        container.container_id = f"lab://{process.pid}"
        self._processes[container.name] = process
        self._node.events.normal(self._record.pod, "Started", f"Started container {container.name}", field)
        self._record.change(container, Running(started))
        if self._record.stop.is_set():
            process.kill()
        code = await process.wait()
        del self._processes[container.name]
        reason = container.cause or ("Error" if code else "Completed")
        return Terminated(code, reason, started, clock.stamp(), container_id=container.container_id)

    async def _command(self, container: ContainerRecord) -> Command:
        """Work out what to run; wait while a config map or secret of it is missing.

        Raises:
            Stopped: the pod is to end.
        """
        while True:
            try:
                return self._command_now(container)
            except ConfigError as error:
                self._node.events.warning(self._record.pod, "Failed", f"Error: {error}")
                self._record.change(container, Waiting("CreateContainerConfigError", str(error)))
                await self._record.pause(self._node.settings.config_retry)

    def _command_now(self, container: ContainerRecord) -> Command:
        pod, spec, place = self._record.pod, container.spec, self._record.placement
        image = self._node.images.find(str(spec["image"])) or LocalImage()
        placement = {
            "spec.nodeName": str(part(pod, "spec").get("nodeName", "")),
            "status.hostIP": place.host_ip,
            "status.podIP": place.pod_ip,
            "status.podIPs": place.pod_ip,
        }
        mounts = self._node.volumes.mounts(pod, spec)
        env = image.env | container_env(pod, spec, placement, self._node.registry.store.find)
        arguments = argument_list(spec, image.entrypoint, env)
        return Command(
            [rewrite(word, mounts) for word in arguments],
            {name: rewrite(value, mounts) for name, value in env.items()},
            rewrite(str(spec.get("workingDir") or image.workdir), mounts),
        )

    @property
    def busy(self) -> bool:
        return bool(self._processes)

    def terminate(self) -> None:
        for process in self._processes.values():
            process.terminate()

    def kill(self, cause: str = "") -> None:
        """Kill all that runs; `cause` is the reason that its state will give, where it is not `Error`."""
        for container in self._record.containers:
            if container.name in self._processes:
                container.cause = cause
                self._processes[container.name].kill()
