"""The deployment's database: made fresh, dropped at the end, its connections cut as a fault."""

from __future__ import annotations

import contextlib
import uuid
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit, urlunsplit

import psycopg
from psycopg import sql

if TYPE_CHECKING:
    from collections.abc import Iterator

OWN_NAME: Final = "launchguard"
"""The `application_name` of the lab's own connections, which a cut leaves alone."""


@contextlib.contextmanager
def fresh_database(server: str, template: str = "template1") -> Iterator[str]:
    """Give the URL of a new PostgreSQL database, which is dropped afterwards.

    Args:
        server: URL of the server's maintenance database.
        template: the name of the database that it starts as a copy of; nobody may be connected to that one.
    """
    name = f"launchguard_lab_{uuid.uuid4().hex[:12]}"
    create = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(create)
    try:
        yield urlunsplit(urlsplit(server)._replace(path=f"/{name}"))
    finally:
        with psycopg.connect(server, autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def database_name(url: str) -> str:
    return urlsplit(url).path.removeprefix("/")


def airflow_url(url: str) -> str:
    """Give the URL as Airflow's SQLAlchemy wants it.

    >>> airflow_url("postgresql://me@/db?host=/run")
    'postgresql+psycopg2://me@/db?host=/run'
    """
    return url.replace("postgresql://", "postgresql+psycopg2://", 1)


def cut_connections(url: str) -> int:
    """Have the server end every connection to the database but the lab's own; gives how many."""
    with psycopg.connect(url, autocommit=True) as connection:
        ended = connection.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
            " WHERE datname = current_database() AND pid <> pg_backend_pid() AND application_name <> %s",
            (OWN_NAME,),
        ).fetchone()
    return int(ended[0]) if ended else 0
