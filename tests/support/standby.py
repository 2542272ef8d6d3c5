"""A second server that follows the first one by streaming replication, and can be promoted."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import psycopg

from pgq_ops.demo.account import hand_over, server_account
from pgq_ops.demo.server import EmbeddedServer
from tests.support.agent import wait_until

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


def query(server: EmbeddedServer, statement: str) -> Any:
    """Run something on a server; returns the first value, if there is one."""
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        cursor = connection.execute(statement.encode())
        return cursor.fetchall()[0][0] if cursor.description else None


@contextmanager
def standby_of(primary: EmbeddedServer) -> Iterator[EmbeddedServer]:
    """A running standby of a running server, which is stopped for a moment, so that a copy of its files will do."""
    standby = EmbeddedServer({"primary_conninfo": primary.dsn(), "fsync": "off"}, primary.binaries)
    try:
        primary.stop()
        shutil.rmtree(standby.folder.data)
        shutil.copytree(primary.folder.data, standby.folder.data)
        (standby.folder.data / "standby.signal").touch()
        _hand_over_all(standby.folder.data)
        standby.password = primary.password
        primary.start()
        standby.start()
        sent = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'"
        wait_until(lambda: query(primary, sent) == 1, 20, "the standby follows")
        yield standby
    finally:
        standby.close()


def caught_up(primary: EmbeddedServer, standby: EmbeddedServer) -> None:
    """Wait until the standby has all that was written so far."""
    position = query(primary, "SELECT pg_current_wal_flush_lsn()")
    wait_until(lambda: query(standby, f"SELECT pg_last_wal_replay_lsn() >= '{position}'"), 20, "the standby caught up")


def _hand_over_all(folder: Path) -> None:
    account = server_account()
    for path in (folder, *folder.rglob("*")):
        hand_over(path, account)
