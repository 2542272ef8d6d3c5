"""Autovacuum's only worker is at a large table for hours, and the job table waits."""

from __future__ import annotations

from typing import Any

import psycopg
import pytest

from pgq_ops.demo.server import EmbeddedServer
from pgq_ops.tasks.upkeep.workers import why_late
from tests.support.agent import wait_until

SETTINGS: dict[str, str | int] = {"fsync": "off", "autovacuum_max_workers": 1, "autovacuum_naptime": "1s"}


@pytest.mark.networks  # a server of its own, and a visit of autovacuum
def test_it_is_told_that_all_workers_are_at_work_elsewhere() -> None:
    with EmbeddedServer(SETTINGS) as own, psycopg.connect(own.dsn(), autocommit=True) as connection:

        def value(query: str) -> Any:
            return connection.execute(query.encode()).fetchall()[0][0]

        connection.execute(
            "CREATE TABLE large (n int) WITH (autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1)"
        )
        assert why_late(connection) == "no worker is seen at it: it was cancelled, or was elsewhere"
        connection.execute("INSERT INTO large SELECT generate_series(1, 200000)")
        connection.execute("DELETE FROM large")
        wait_until(lambda: value("SELECT count(*) FROM pg_stat_progress_vacuum"), 60, "it is at work")
        assert why_late(connection) == "its only worker is at work elsewhere"
