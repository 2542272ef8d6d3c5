"""The PostgreSQL that the tests run on.

By default an embedded one; PGQ_OPS_PG_BIN selects another version by its bin folder,
PGQ_OPS_TEST_IMAGE=postgres:17 runs a container, PGQ_OPS_TEST_DSN uses a server that is there
(as superuser; databases and roles of our own are made and dropped in it).
"""

from __future__ import annotations

import os
import secrets
import shutil
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import psycopg
from psycopg.conninfo import make_conninfo

from pgq_ops.demo.binaries import find_binaries
from pgq_ops.demo.server import EmbeddedServer

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pgq_ops.demo.binaries import Binaries

SETTINGS: dict[str, str | int] = {
    "fsync": "off",
    "max_connections": 100,
    "max_prepared_transactions": 10,
    "wal_level": "logical",
    # Far from UTC and with summer time, so that a comparison of naive times cannot come out right by luck.
    "TimeZone": "America/New_York",
    # A thousand tests in turn leave their statements there; none may push out those of the one at hand.
    "pg_stat_statements.max": 100_000,
}
_MEMORY_BYTES = 2 * 1024**3  # what a worker's server may come to fill
_STATEMENTS_LIBRARY = "pg_stat_statements"


@dataclass(frozen=True, slots=True)
class Server:
    """A running server: the superuser's connection string, its major version, and the embedded one if it is."""

    dsn: str
    major: int
    embedded: EmbeddedServer | None = None

    def dsn_of(self, dbname: str, **parts: str) -> str:
        """Connection string for another database, with parts such as `user` replaced."""
        return make_conninfo(self.dsn, dbname=dbname, **parts)

    def execute(self, query: str) -> None:
        """Run one statement in the maintenance database, outside a transaction."""
        with psycopg.connect(self.dsn, autocommit=True) as connection:
            connection.execute(query)


@contextmanager
def running_server(settings: Mapping[str, str | int] | None = None) -> Iterator[Server]:
    """Start, or connect to, the server that the environment asks for; ended afterwards if it was started.

    `settings` are further ones of a server that is started here, not of one that is there already.
    """
    wanted = SETTINGS | dict(settings or {})
    if dsn := os.environ.get("PGQ_OPS_TEST_DSN"):
        yield Server(dsn, _major(dsn))
    elif image := os.environ.get("PGQ_OPS_TEST_IMAGE"):
        with _container(image, wanted) as dsn:
            yield Server(dsn, _major(dsn))
    else:
        binaries = find_binaries()
        with EmbeddedServer(wanted | _preload(binaries), binaries, _memory()) as embedded:
            yield Server(embedded.dsn(), binaries.major, embedded)


@contextmanager
def _container(image: str, wanted: Mapping[str, str | int]) -> Iterator[str]:
    # Slow to import, and needed here only.
    from testcontainers.community.postgres import PostgresContainer  # noqa: PLC0415

    settings = {**wanted, "shared_preload_libraries": _STATEMENTS_LIBRARY}
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    # No word, as the default `test` is: it is masked wherever it appears.
    password = secrets.token_hex(12)
    with PostgresContainer(image, driver=None, password=password).with_command(["postgres", *options]) as container:
        yield container.get_connection_url()


def _memory() -> Path | None:
    """A file system in memory if there is room: CREATE DATABASE took 13 ms there, 230 ms on a virtual disk."""
    place = Path("/dev/shm")  # noqa: S108 (the server makes a private folder in it)
    roomy = place.is_dir() and os.access(place, os.W_OK) and shutil.disk_usage(place).free >= _MEMORY_BYTES
    return place if roomy else None


def _preload(binaries: Binaries) -> dict[str, str | int]:
    found = any(binaries.bin.parent.glob(f"lib/**/{_STATEMENTS_LIBRARY}.*"))
    return {"shared_preload_libraries": _STATEMENTS_LIBRARY} if found else {}


def _major(dsn: str) -> int:
    with psycopg.connect(dsn) as connection:
        return connection.info.server_version // 10_000
