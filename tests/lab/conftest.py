from __future__ import annotations

import contextlib
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from lab_cluster import Cluster, cluster_in, fast

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    with cluster_in(tmp_path, fast()) as made:
        yield made


@pytest.fixture
def make_cluster(tmp_path: Path) -> Iterator[Callable[..., Cluster]]:
    """Give a maker of clusters with other settings."""
    with contextlib.ExitStack() as stack:
        yield lambda **changes: stack.enter_context(cluster_in(tmp_path, fast(**changes)))


@pytest.fixture
def kubectl() -> str:
    """Give the kubectl of this environment, or of the machine."""
    own = Path(sys.executable).with_name("kubectl")
    found = str(own) if own.exists() else shutil.which("kubectl")
    if found is None:
        pytest.skip("there is no kubectl: install the development dependencies, which bring one")
    return found
