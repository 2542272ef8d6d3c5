"""How close to its end a live lease comes before its worker extends it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.job_table.leases import LeaseTerms
from pgq_ops.stats import bounded

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

_MOST = 1_000


@dataclass(frozen=True, slots=True)
class LeaseMargins:
    """Of `leases` live ones, the longest has so many seconds left, and nine in ten at least `usual_seconds`."""

    leases: int
    longest_seconds: float | None
    usual_seconds: float | None


def read(connection: Connection, table: JobTable) -> LeaseMargins:
    """Look at 1,000 running jobs at most: only where `IndexSupport.is_cheap("running")`. Raises the driver's errors."""
    terms = LeaseTerms(table, table.policies)
    left = composing.SQL(
        "CASE WHEN pg_catalog.isfinite({0}) THEN extract(epoch FROM {0} - pg_catalog.now())::float8 END"
    )
    fragments = {
        "table": table.relation.sql,
        "is_running": table.is_state("running"),
        "ran_out": composing.SQL("COALESCE({}, false)").format(terms.ran_out()),
        "is_future": composing.SQL("COALESCE({}, false)").format(terms.is_future()),
        "seconds_left": left.format(terms.expires_at()),
    }
    rows, _ = bounded.read(connection, table, sql.statement("stats/lease_margins", fragments), {"limit": _MOST})
    return LeaseMargins(*rows[0])
