"""How far this machine's clock is from the database's."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

# The shortest of a few round trips bounds the error best.
_ROUNDS = 3


@dataclass(frozen=True, slots=True)
class ClockSkew:
    """`ahead_seconds`: by how much this machine's clock is ahead (below 0: behind), give or take `error_seconds`."""

    ahead_seconds: float
    error_seconds: float


def read(connection: Connection, table: JobTable) -> ClockSkew:  # noqa: ARG001 (every reader is asked for a table)
    """Compare, taking the database's answer for the middle of the round trip. Raises the driver's errors."""
    return min((_round(connection) for _ in range(_ROUNDS)), key=lambda skew: skew.error_seconds)


def _round(connection: Connection) -> ClockSkew:
    before = time.time()
    [(there,)] = connection.execute(sql.statement("stats/clock"), {}).fetchall()
    after = time.time()
    return ClockSkew((before + after) / 2 - float(there), (after - before) / 2)
