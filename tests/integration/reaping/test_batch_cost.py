from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.db.prepared import prepared_statements
from pgq_ops.job_table.leases import LeaseTerms
from pgq_ops.tasks.reap import Reap
from pgq_ops.tasks.reap_page import PageOrder
from pgq_ops.tasks.reap_statement import ReapStatement
from tests.support.article_tables import LEASE_TABLE
from tests.support.binding import LEASE, bind_toml
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.tasks.reap_page import Page
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
    with prepared_statements(bound.connection):
        taken = statement.run(bound.connection, order.first(), BATCH)
        assert taken.position is not None
        taken = statement.run(bound.connection, order.after(taken.position), BATCH)
    assert taken.position is not None
    document = explain_prepared(bound.connection, statement, order.after(taken.position))
    assert BATCH <= rows_read(document["Plan"]) <= 3 * BATCH
    assert rows_compared_in_vain(document["Plan"]) == 0


def explain_prepared(connection: Connection, statement: ReapStatement, page: Page) -> dict[str, Any]:
    """What the one plan that the server has prepared does with one more batch."""
    names = dict.fromkeys(re.findall(r"%\((\w+)\)s", statement.batch(page).decode()))
    parameters = statement.parameters(page, BATCH)
    [[prepared]] = connection.execute("SELECT name FROM pg_prepared_statements", {}).fetchall()
    explain = composing.SQL("EXPLAIN (ANALYZE, FORMAT JSON) EXECUTE {}({})").format(
        composing.Identifier(prepared), composing.SQL(", ").join(composing.Literal(parameters[name]) for name in names)
    )
    [[[document]]] = connection.execute(explain).fetchall()
    return dict(document)


def test_a_batch_whose_prepared_statement_was_dropped_is_run_all_the_same(database: Database) -> None:
    create_field_table(database)
    database.execute(
        "INSERT INTO jobs (status, lease_until) SELECT 'running', now() - interval '1 minute' FROM generate_series(1, 40)"
    )
    bound = bind_toml(database, FIELD + "batch_size = 10\n")

    def drop() -> bool:
        bound.connection.pgconn.exec_(b"DEALLOCATE ALL")
        return True

    result = Reap().run(bound.connection, bound.table, drop)
    assert result.requeued == 40
    assert result.conflicts == 0


def test_passes_over_many_tables_leave_few_plans_on_the_server(database: Database) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ALTER queue SET NOT NULL")
    bound = bind_toml(
        database,
        FIELD
        + "batch_size = 2\n"
        + "".join(f"[job_tables.jobs.queues.q{n}]\nlease.grace = '{n}s'\n" for n in range(1, 21)),
    )
    database.execute(
        "INSERT INTO jobs (queue, status, lease_until) SELECT 'q' || n % 20 + 1, 'running', now() - interval '1 hour'"
        " FROM generate_series(1, 100) AS n"
    )
    assert Reap().run(bound.connection, bound.table, lambda: True).requeued == 100
    [[plans]] = bound.connection.execute("SELECT count(*) FROM pg_prepared_statements", {}).fetchall()
    assert 1 <= plans <= 8
