"""The job table of preset `lease` with a long history of finished jobs, as the demo creates it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pgq_ops import sql
from pgq_ops.demo.statements import statement as demo_statement

if TYPE_CHECKING:
    import psycopg
    from psycopg.sql import Composed

# A busy queue beside its history, as in performance.md; a short table gets fewer.
PENDING, RUNNING, FAILED = 50_000, 2_000, 66_000
INDEXES = ("create_pending_index", "create_running_index", "create_failed_index")


def statement(name: str) -> Composed:
    """The statement in `sql/<name>.sql` beside this file."""
    return sql.statement(f"sql/{name}", package="benchmarks")


def build(connection: psycopg.Connection[Any], rows: int) -> None:
    """Create the table with its advised indexes and `rows` finished jobs, vacuumed and analysed."""
    connection.execute(demo_statement("create_jobs"), {})
    connection.execute(statement("set_payload"), {})
    connection.execute(statement("insert_finished"), {"rows": rows})
    for name in INDEXES:
        connection.execute(demo_statement(name), {})
    settle(connection)


def insert_working(connection: psycopg.Connection[Any], rows: int) -> None:
    """Add pending, running and dead jobs to a history of so many rows."""
    most = rows // 20
    parameters = {"pending": min(PENDING, most), "running": min(RUNNING, most), "failed": min(FAILED, most)}
    connection.execute(statement("insert_working"), parameters)
    settle(connection)


def settle(connection: psycopg.Connection[Any]) -> None:
    """Remove dead rows with all their index entries and refresh the statistics."""
    connection.execute("VACUUM (ANALYZE, INDEX_CLEANUP ON) demo_queue_jobs")
