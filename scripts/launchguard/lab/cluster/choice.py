"""Which cluster a campaign is played on, as its user says it, and how it is reached."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from launchguard import console
from launchguard.errors import LaunchguardError
from launchguard.lab.cluster.kubectl import Kubectl, find_kubectl

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from launchguard.lab.outcome import Side


@dataclass(frozen=True)
class Place:
    """Where one side is played.

    Args:
        socket: behind which the cluster's API is.
        server: the URL of the API server in the kubeconfig.
        image: of the workers.
        namespace: that may be used; empty for one that the lab makes.
        worker_host: by which pods reach this machine; empty to find out.
    """

    socket: Path
    server: str
    image: str
    namespace: str = ""
    worker_host: str = ""


@dataclass(frozen=True)
class ClusterChoice:
    """What the command line says of a real cluster.

    Args:
        images: of the workers, of each side.
    """

    kubeconfig: Path
    context: str = ""
    namespace: str = ""
    worker_host: str = ""
    images: Mapping[Side, str] = field(default_factory=dict)

    def check(self, sides: Sequence[Side]) -> None:
        """Make sure that there is an image for each side.

        Raises:
            LaunchguardError: there is none.
        """
        missing = [f"--image-{side}" for side in sides if not self.images.get(side)]
        if missing:
            raise LaunchguardError(f"--kubeconfig needs the workers' images: name them with {', '.join(missing)}")

    @contextlib.contextmanager
    def connected(self) -> Iterator[Mapping[Side, Place]]:
        """Give each side's place, for as long as the cluster can be reached there.

        Raises:
            LaunchguardError: it cannot be reached.
        """
        kubectl = Kubectl(find_kubectl(), self.kubeconfig, self.context)
        with console.working("reaching the cluster"):
            server = kubectl.server()
        with kubectl.proxy() as socket:
            yield {
                side: Place(socket, server, image, self.namespace, self.worker_host)
                for side, image in self.images.items()
            }
