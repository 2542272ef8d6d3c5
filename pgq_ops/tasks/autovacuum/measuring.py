"""Measures for a person who waits what an agent would have observed: how fast rows die, by two looks."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from pgq_ops.stats import table_health
from pgq_ops.stats.churn import Churn
from pgq_ops.stats.observed import Observations, Observed
from pgq_ops.stats.vacuum_watch import went_back

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.table_health import TableHealth


def measure(connection: Connection, tables: Iterable[JobTable], seconds: float) -> Observations:
    """Look at all tables, wait, look again. 0 seconds: look once, and no churn is known.

    Over few seconds it is a rough number: a session tells the statistics what it wrote a second later or more. Raises
    the driver's errors.
    """
    observations = Observations()
    looked = [(table, table_health.read(connection, table)) for table in tables]
    if seconds > 0:
        time.sleep(seconds)
    for table, before in looked:
        after = table_health.read(connection, table) if seconds > 0 else before
        observations.put(table.name, Observed(after, churn_between(before, after)))
    return observations


def churn_between(before: TableHealth, after: TableHealth) -> dict[int, Churn]:
    """By leaf's oid; none of leaves that came between, or whose counters began anew, or where nothing is counted."""
    seconds = after.at - before.at
    if seconds <= 0 or not after.server.counts:
        return {}
    known = {leaf.oid: leaf for leaf in before.leaves}
    return {
        leaf.oid: Churn(
            seconds,
            (leaf.inserted - known[leaf.oid].inserted) / seconds,
            (leaf.updated - known[leaf.oid].updated) / seconds,
            (leaf.deleted - known[leaf.oid].deleted) / seconds,
        )
        for leaf in after.leaves
        if leaf.oid in known and not leaf.lost and not went_back(known[leaf.oid], leaf)
    }
