"""What a deployment needs of its cluster, be it the stand-in or a real one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine, Sequence

    from launchguard.lab.faults import FaultEngine
    from launchguard.lab.plan import Command

_T = TypeVar("_T")


class ClusterPort(Protocol):
    """A cluster that runs in a thread of its own."""

    @property
    def url(self) -> str:
        """Where clients reach the API; `kubeconfig.USER_PATH` tells who they are."""

    @property
    def faults(self) -> FaultEngine:
        """What strikes here; to be touched in the cluster's thread only."""

    def call(self, work: Callable[[], _T]) -> _T:
        """Run a function in the cluster's thread."""

    def wait(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine in the cluster's thread."""

    def execute(self, command: Command) -> None:
        """Carry out a command."""

    def phases(self) -> Sequence[str]:
        """Give the phases of the pods that there are."""

    def heal(self) -> None:
        """Have the API answer, and nodes take pods."""
