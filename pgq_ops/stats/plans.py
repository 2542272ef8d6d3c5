"""How the planner would read a statement: the plan without running it."""

from __future__ import annotations

import re
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from psycopg import sql as composing

from pgq_ops import sql

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

Plan = dict[str, Any]

# A partitioned table's leaves get the aliases j_1, j_2, ...
_JOB_ALIAS = re.compile(r"j(_\d+)?")


@contextmanager
def bounded(connection: Connection, table: JobTable, *, through_indexes: bool = True) -> Iterator[float]:
    """A transaction for a look at the table; gives its `now()` in epoch seconds.

    `through_indexes`: every index that fits is used. Without it a wrong statistic is enough for a scan of the
    whole table: `LIMIT 10001` looks cheap to a planner that believes half of the rows to be pending.
    """
    parameters = {"oid": table.relation.oid if table.partitioned else None, "through_indexes": through_indexes}
    with connection.transaction():
        row = connection.execute(sql.statement("stats/bound_look"), parameters).fetchone()
        yield float(row[3]) if row else 0.0


def explain(connection: Connection, statement: composing.Composable, parameters: Mapping[str, Any]) -> Plan:
    """The plan's top node, as `EXPLAIN (FORMAT JSON)` gives it."""
    query = composing.SQL("EXPLAIN (VERBOSE, FORMAT JSON) {}").format(statement)
    row = connection.execute(query, parameters).fetchone()
    top: Plan = row[0][0]["Plan"] if row else {}
    return top


def nodes(plan: Plan) -> Iterator[Plan]:
    """The node and everything under it, sub-selects in a user's expression left out."""
    yield plan
    for child in plan.get("Plans", ()):
        if child.get("Parent Relationship") not in ("InitPlan", "SubPlan"):
            yield from nodes(child)


def job_scans(plan: Plan) -> Iterator[Plan]:
    """The nodes that read the job table or one of its leaves."""
    return (node for node in nodes(plan) if _JOB_ALIAS.fullmatch(node.get("Alias", "")))


def sorts(plan: Plan) -> bool:
    """Whether rows are sorted rather than read in order."""
    return any(node["Node Type"] in ("Sort", "Incremental Sort") for node in nodes(plan))
