"""The deployment's database: made fresh, dropped at the end, its connections cut as a fault."""

from __future__ import annotations

import contextlib
import uuid
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

from launchguard.postgres import postgres_server

if TYPE_CHECKING:
    from collections.abc import Iterator


@contextlib.contextmanager
def fresh_database() -> Iterator[str]:
    """Give the URL of an empty PostgreSQL database, which is dropped afterwards."""
    name = f"launchguard_lab_{uuid.uuid4().hex[:12]}"
    with postgres_server() as server:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        try:
            yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
        finally:
            with psycopg.connect(server, autocommit=True) as connection:
                connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def airflow_url(url: str) -> str:
    """Give the URL as Airflow's SQLAlchemy wants it.

    >>> airflow_url("postgresql://me@/db?host=/run")
    'postgresql+psycopg2://me@/db?host=/run'
    """
    return url.replace("postgresql://", "postgresql+psycopg2://", 1)


def cut_connections(url: str) -> int:
    """Have the server end every other connection to the database; gives how many."""
    with psycopg.connect(url, autocommit=True) as connection:
        ended = connection.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchone()
    return int(ended[0]) if ended else 0
