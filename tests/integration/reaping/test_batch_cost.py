from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pgq_ops import sql
from pgq_ops.job_table.leases import LeaseTerms
from pgq_ops.tasks.reap_page import PageOrder
from pgq_ops.tasks.reap_statement import ReapStatement
from tests.support.article_tables import LEASE_TABLE
from tests.support.binding import LEASE, bind_toml

if TYPE_CHECKING:
    from tests.support.database import Database

# So that the planner, which takes state and lease for independent of each other, believes a batch to be all there is.
# Where it last looked before there were any running jobs, it believes in a single row.
FINISHED = 200_000
EXPIRED = 20_000
BATCH = 500


def rows_read(plan: dict[str, Any]) -> float:
    """The rows that the plan's scans of the job table looked at, under whatever node they are."""
    scans = plan["Node Type"].endswith("Scan") and plan.get("Alias", "").startswith("j")
    here = plan["Actual Rows"] + plan.get("Rows Removed by Filter", 0) if scans else 0
    return float(here * plan["Actual Loops"] + sum(rows_read(child) for child in plan.get("Plans", ())))


def rows_compared_in_vain(plan: dict[str, Any]) -> float:
    """The pairs of rows that the plan's joins threw away."""
    here = plan.get("Rows Removed by Join Filter", 0) * plan["Actual Loops"]
    return float(here + sum(rows_compared_in_vain(child) for child in plan.get("Plans", ())))


@pytest.mark.parametrize("analyzed", ["before they were claimed", "since"])
@pytest.mark.parametrize("index", ["lease_until", "id"])
def test_a_batch_reads_little_more_than_it_takes(database: Database, index: str, analyzed: str) -> None:
    database.execute(f"{LEASE_TABLE}; DROP INDEX demo_queue_jobs_running")
    database.execute(
        "INSERT INTO demo_queue_jobs (payload, status) SELECT '{}', 'done' FROM generate_series(1, %s)", [FINISHED]
    )
    database.execute(f"CREATE INDEX ON demo_queue_jobs ({index}) WHERE status = 'running'")
    database.execute("ANALYZE demo_queue_jobs")
    database.execute(
        "INSERT INTO demo_queue_jobs (payload, status, lease_until, attempts)"
        " SELECT '{}', 'running', now() - random() * interval '1 hour', 1 FROM generate_series(1, %s)",
        [EXPIRED],
    )
    if analyzed == "since":
        database.execute("ANALYZE demo_queue_jobs")
    bound = bind_toml(database, LEASE)
    table, [policy] = bound.table, bound.table.policies
    lease = LeaseTerms(table, (policy,)).column()
    assert lease is not None
    order = PageOrder.by_lease(table, lease) if index == "lease_until" else PageOrder.by_key(table)
    statement = ReapStatement(table, table.relation, policy, order, include_stale=False)
    bound.connection.execute(sql.statement("reap/prepare_session"), {"may_sort": "off" if order.indexed else "on"})
    taken = statement.run(bound.connection, order.first(), BATCH)
    assert taken.position is not None
    page = order.after(taken.position)
    explain = b"EXPLAIN (ANALYZE, FORMAT JSON) " + statement.batch(bound.connection, page)
    [[[document]]] = bound.connection.execute(explain, statement.parameters(page, BATCH)).fetchall()
    assert BATCH <= rows_read(document["Plan"]) <= 3 * BATCH
    assert rows_compared_in_vain(document["Plan"]) == 0
