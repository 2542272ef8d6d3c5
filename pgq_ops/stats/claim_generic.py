"""What a claim costs that gets its state as a parameter, where PostgreSQL would come to plan it without the value.

A prepared statement (drivers prepare them unasked, functions always) is planned for its values five times; from then on
without them, wherever that looks no dearer than to plan each time. `status = $1` proves no partial index's predicate,
and the planner takes each state to be as frequent as the others: so it may come to read past all that is done.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.stats import bounded, claim_cost, claim_query, plans

if TYPE_CHECKING:
    from psycopg import sql as composing

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.claim_cost import ClaimCost
    from pgq_ops.stats.plans import Plan

# What PostgreSQL adds to a custom plan's cost for having to plan it: so many operators for each table and one more
# (plancache.c, cached_plan_cost).
_OPERATORS = 1000


def read(connection: Connection, table: JobTable) -> ClaimCost | None:
    """Look once; None where the values of the state are not compared, or a custom plan would be preferred.

    Worth remembering for minutes. Raises the driver's errors as `claim_cost.read` does, and those of the planning.
    """
    condition = claim_query.is_pending_by_parameter(table)
    if condition is None:
        return None
    parts = claim_query.fragments(table) | {"is_pending": condition}
    with bounded.transaction(connection, table, through_indexes=False):
        connection.execute(claim_cost.settings(), {})
        custom, generic = (
            _planned(connection, statement)
            for statement in (claim_cost.planning(table), sql.statement("stats/claim_plan", parts))
        )
        operator = float(connection.execute(sql.statement("stats/operator_cost"), {}).fetchall()[0][0])
    tables = len(list(plans.job_scans(custom))) + (1 if table.partitioned else 0)
    if generic["Total Cost"] >= custom["Total Cost"] + _OPERATORS * operator * (tables + 1):
        return None
    cost = claim_cost.measured(connection, table, sql.statement("stats/claim_cost", parts))
    return replace(cost, generic=True, planned=claim_cost.described_node(generic))


def _planned(connection: Connection, statement: composing.Composed) -> Plan:
    [explained] = connection.execute(statement, {}).fetchall()[0][0]
    plan: Plan = explained["Plan"]
    return plan
