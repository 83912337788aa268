"""What Airflow's processes in the lab import: this folder is on their PYTHONPATH."""  # noqa: INP001  no package: it stands on the path by itself

from __future__ import annotations

import os
import socket


def pod_hostname() -> str:
    """Give the pod's host name: Airflow tells a worker's repeated request from another's by it."""
    return os.environ.get("HOSTNAME") or socket.gethostname()
