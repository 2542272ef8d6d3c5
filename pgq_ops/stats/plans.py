"""How the planner would read a statement: the plan without running it."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from psycopg import sql as composing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pgq_ops.db.connection import Connection

Plan = dict[str, Any]

# 0.3 to 0.4 ms each for 2,500 partitions with three indexes (PostgreSQL 16 on two cores).
_PLANNING_SECONDS_A_TABLE = 0.0004

# A partitioned table's leaves get the aliases j_1, j_2, ...
_JOB_ALIAS = re.compile(r"j(_\d+)?")


def explain(connection: Connection, statement: composing.Composable, parameters: Mapping[str, Any]) -> Plan:
    """The plan's top node, as `EXPLAIN (FORMAT JSON)` gives it."""
    query = composing.SQL("EXPLAIN (VERBOSE, FORMAT JSON) {}").format(statement)
    row = connection.execute(query, parameters).fetchone()
    top: Plan = row[0][0]["Plan"] if row else {}
    return top


def planning_seconds(tables: int) -> float:
    """About how long it takes to plan a statement on a table of so many partitions, of which none is pruned."""
    return tables * _PLANNING_SECONDS_A_TABLE


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
