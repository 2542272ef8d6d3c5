"""The probe `table` alone, over a job table whose dead rows a test makes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.probes.table import Table
from tests.support.agent import wait_until
from tests.support.collecting import Collection, collection_of
from tests.support.jobs import SMALL

if TYPE_CHECKING:
    from pgq_ops.stats.table_health import LeafHealth, TableHealth
    from tests.support.database import Database

COLUMNS = "id bigint, status text, run_at timestamptz, lease_until timestamptz, locked_by text, attempts int DEFAULT 0"

_TOLD = """
    SELECT coalesce(sum(pg_stat_get_tuples_inserted(oid) + pg_stat_get_tuples_updated(oid)
                        + pg_stat_get_tuples_deleted(oid)), 0)
    FROM pg_class WHERE relname LIKE 'jobs%%' AND relkind = 'r'
"""


def probe(database: Database, *, role: str | None = None, toml: str = SMALL) -> Collection:
    """Collections that run the probe `table` and no other."""
    seen = collection_of(database, toml, role=role)
    seen.collector.probes = (Table(),)
    seen.collector.database_probes = ()
    return seen


def health(seen: Collection) -> TableHealth:
    """What the probe has just read."""
    assert seen.collect().failures == ()
    assert seen.last is not None
    assert seen.last.look.health is not None
    return seen.last.look.health


def leaf(seen: Collection) -> LeafHealth:
    """The only table with rows."""
    [one] = health(seen).leaves
    return one


def told(database: Database, changes: int) -> None:
    """Wait until the statistics have so many rows inserted, updated and deleted in all tables named jobs..."""
    if database.server.major >= 15:
        database.execute("SELECT pg_stat_force_next_flush()")
    wait_until(lambda: database.value(_TOLD, {}) >= changes, 10, f"{changes} changes in the statistics")


def vacuum(database: Database, statement: str = "VACUUM ANALYZE jobs") -> None:
    """Run a VACUUM or an ANALYZE of jobs, and wait until the statistics know of it."""
    done = """
        SELECT sum(pg_stat_get_vacuum_count(oid) + pg_stat_get_analyze_count(oid))
        FROM pg_class WHERE relname LIKE 'jobs%%' AND relkind = 'r'
    """
    before = database.value(done, {})
    database.execute(statement)
    wait_until(lambda: database.value(done, {}) > before, 10, f"{statement} in the statistics")


def write(database: Database, statement: str) -> None:
    """Run a statement in a session of its own, which tells the statistics (from 15 on: before it is gone)."""
    connection = database.connect()
    pid = connection.info.backend_pid
    connection.execute(statement.encode())
    connection.close()
    here = "SELECT count(*) FROM pg_stat_activity WHERE pid = %s"
    wait_until(lambda: database.value(here, [pid]) == 0, 10, "the session is gone")
