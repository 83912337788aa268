"""Kubeconfig files, which lead clients to a stand-in and tell it who they are."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from pathlib import Path


USER_PATH: Final = "/as/"
"""What stands before the client's name, which stands before the path of the API."""


def write_kubeconfig(path: Path, url: str, *, user: str = "lab", namespace: str = "default") -> Path:
    """Write a kubeconfig, whose server URL says who the client is: faults and the history tell clients apart by it.

    Bearer tokens would be the usual way, but kubectl sends none over plain HTTP.

    Args:
        url: of the API server.
    """
    config = {
        "apiVersion": "v1",
        "kind": "Config",
        "preferences": {},
        "current-context": "lab",
        "clusters": [{"name": "lab", "cluster": {"server": f"{url}{USER_PATH}{user}"}}],
        "users": [{"name": user, "user": {}}],
        "contexts": [{"name": "lab", "context": {"cluster": "lab", "user": user, "namespace": namespace}}],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    # JSON is YAML, and every client reads it.
    path.write_text(json.dumps(config, indent=2) + "\n", encoding="utf-8")
    path.chmod(0o600)
    return path
