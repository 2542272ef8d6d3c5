"""Whether an index fits the claim: leads to pending jobs alone, in the order in which they are claimed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.stats import bounded, claim_cost, plans, statement_text

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.plans import Plan


@dataclass(frozen=True, slots=True)
class ClaimFit:
    """The best plan that the indexes allow, in one line (`node`), whatever the planner prefers for a small table.

    `sorts`: all pending jobs are read and sorted for one. `scans`: tables are read whole. `past_others`: an index gives
    the order, and jobs of other states are read on the way.
    """

    node: str
    sorts: bool
    scans: bool
    past_others: bool

    @property
    def fits(self) -> bool:
        """Whether a claim costs the same however long the history and the backlog are."""
        return not (self.sorts or self.scans or self.past_others)


def read(connection: Connection, table: JobTable) -> ClaimFit:
    """Ask the planner. Raises the driver's errors."""
    partial = {name for (name,) in connection.execute(sql.statement("stats/partial_indexes"), _oid(table)).fetchall()}
    with bounded.transaction(connection, table):
        [explained] = connection.execute(claim_cost.planning(table), {}).fetchall()[0][0]
    top = explained["Plan"]
    scans = list(plans.job_scans(top))
    used = [[node for node in plans.nodes(scan) if "Index Name" in node] for scan in scans]
    state = table.fields.get("state")
    name = None if state is None else state.name
    return ClaimFit(
        node=claim_cost.described_node(top),
        # An incremental sort orders only those that are due at the same moment.
        sorts=any(node["Node Type"] == "Sort" for node in plans.nodes(top)),
        scans=any(not nodes for nodes in used),
        past_others=any(not _leads_to_pending(node, partial, name) for nodes in used for node in nodes),
    )


def _oid(table: JobTable) -> dict[str, int]:
    return {"oid": table.relation.oid}


def _leads_to_pending(node: Plan, partial: set[str], state: str | None) -> bool:
    """A partial index does, since the planner has proven its predicate; another one by a condition on the state."""
    if node["Index Name"] in partial:
        return True
    condition = str(node.get("Index Cond", "")).replace('"', "")
    return state is not None and statement_text.mentions(condition, state.replace('"', ""))
