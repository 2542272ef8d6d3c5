"""A primary and a real standby of it that tells what its sessions still have to see."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg
import pytest

from pgq_ops.demo.server import EmbeddedServer
from tests.support.agent import wait_until
from tests.support.database import Database
from tests.support.postgres import Server, running_server
from tests.support.standby import caught_up, query, standby_of
from tests.support.vacuuming import Ground

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

_RECEIVING = "SELECT count(*) FROM pg_stat_wal_receiver WHERE status = 'streaming'"


@dataclass(slots=True)
class Pair:
    """The two servers, and a ground on the primary."""

    primary: EmbeddedServer
    standby: EmbeddedServer
    ground: Ground

    def follow(self, slot: str = "") -> None:
        """Let the standby follow by that slot, or without one."""
        query(self.standby, f"ALTER SYSTEM SET primary_slot_name = '{slot}'")
        query(self.standby, "SELECT pg_reload_conf()")
        by = "SELECT coalesce((SELECT slot_name FROM pg_stat_wal_receiver WHERE status = 'streaming'), '')"
        wait_until(lambda: query(self.standby, _RECEIVING) == 1 and query(self.standby, by) == slot)

    def read(self) -> psycopg.Connection[Any]:
        """A session on the standby that keeps a snapshot of all that is there."""
        caught_up(self.primary, self.standby)
        session = psycopg.connect(self.standby.dsn(self.ground.database.name), application_name="reader")
        session.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        session.execute("SELECT FROM t")
        self.ground.database.adopt(session)
        return session

    def on_the_standby(self, statements: str) -> list[tuple[Any, ...]]:
        """Run what is to be pasted there, one after another; the rows of the first that returned some."""
        found: list[tuple[Any, ...]] = []
        code = "\n".join(line for line in statements.splitlines() if not line.startswith("--"))
        with psycopg.connect(self.standby.dsn(self.ground.database.name), autocommit=True) as connection:
            for statement in filter(str.strip, code.split(";")):
                cursor = connection.execute(statement.encode())
                found = found or (cursor.fetchall() if cursor.description else [])
        return found


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    """One of these tests' own, to which no autovacuum comes: its snapshot would be older than what a test lets go of."""
    with running_server({"autovacuum": "off"}) as started:
        yield started


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[EmbeddedServer, EmbeddedServer]]:
    with EmbeddedServer({"fsync": "off"}) as primary, standby_of(primary) as standby:
        query(standby, "ALTER SYSTEM SET wal_receiver_status_interval = '1s'")
        yield primary, standby


@pytest.fixture
def pair(servers: tuple[EmbeddedServer, EmbeddedServer]) -> Iterator[Pair]:
    primary, standby = servers
    standby.start()
    query(standby, "ALTER SYSTEM SET hot_standby_feedback = on")
    query(standby, "SELECT pg_reload_conf()")
    database = Database(Server(primary.dsn(), primary.binaries.major, primary))
    yield Pair(primary, standby, Ground(database))
    for (slot,) in database.rows("SELECT slot_name FROM pg_replication_slots WHERE NOT active"):
        database.execute("SELECT pg_drop_replication_slot(%s)", [slot])
    database.drop()
