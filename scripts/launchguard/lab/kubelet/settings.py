"""What can be set about nodes and their kubelets."""

from __future__ import annotations

import msgspec


class KubeletSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How the kubelets behave; durations are in seconds.

    Args:
        nodes: their names.
        pods_per_node: what a node takes; further pods stay Pending, which bounds what runs on this machine at once.
        pull_retry: between two tries to pull an image.
        restart_backoff: before the first restart of a container; doubled for each further one.
        config_retry: between two looks for a config map or secret that is missing.
    """

    nodes: tuple[str, ...] = ("lab-node-1",)
    pods_per_node: int = 110
    pull_retry: float = 10.0
    restart_backoff: float = 10.0
    config_retry: float = 2.0
