"""What a collection costs: it must not grow with finished history."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from psycopg import sql as composing

from pgq_ops.stats import bounded, job_sample, leases, plans
from tests.support.collecting import collection_of
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from pgq_ops.job_table.table import JobTable
    from tests.support.database import Database

ACTIVE = """
    INSERT INTO jobs (queue, status, run_at, lease_until)
    SELECT 'a', s, now(), now() FROM unnest(ARRAY['pending', 'running', 'dead']) AS s, generate_series(1, 50)
"""


def _looks(table: JobTable) -> dict[str, composing.Composed]:
    return {
        "pending": job_sample.jobs_in(table, "pending", ordered=True),
        "running": job_sample.jobs_in(table, "running"),
        "dead": job_sample.jobs_in(table, "dead"),
        "leases": leases.look(table),
    }


def _buffers(database: Database, table: JobTable) -> dict[str, int]:
    found = {}
    connection: Any = database.connect()
    for name, look in _looks(table).items():
        explain = composing.SQL("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {}").format(look)
        with bounded.transaction(connection, table):
            top = connection.execute(explain, {"limit": job_sample.CAP + 1}).fetchone()[0][0]["Plan"]
        found[name] = top["Shared Hit Blocks"] + top["Shared Read Blocks"]
    return found


@pytest.mark.case("M2")
def test_two_hundred_times_the_history_costs_no_more_buffers(database: Database) -> None:
    create_field_table(database)
    database.execute("CREATE INDEX ON jobs (run_at, id) WHERE status = 'pending'")
    database.execute("CREATE INDEX ON jobs (id) WHERE status = 'dead'")
    database.execute("INSERT INTO jobs (status) SELECT 'done' FROM generate_series(1, 1000)")
    database.execute(ACTIVE)
    database.execute("VACUUM ANALYZE jobs")
    table = collection_of(database).table
    before = _buffers(database, table)
    database.execute("INSERT INTO jobs (status) SELECT 'done' FROM generate_series(1, 200000)")
    database.execute("VACUUM ANALYZE jobs")
    after = _buffers(database, table)
    # A deeper index is one page more a descent.
    assert {name: after[name] <= before[name] + 5 for name in after} == dict.fromkeys(after, True)


def test_a_look_is_capped(database: Database) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (status) SELECT 'running' FROM generate_series(1, 30000)")
    database.execute("INSERT INTO jobs (status) SELECT 'done' FROM generate_series(1, 180000)")
    database.execute("VACUUM ANALYZE jobs")
    seen = collection_of(database).healthy()
    found = seen.last.look.leases if seen.last else None
    assert found is not None
    assert found.truncated
    assert found.total("running") == 10_001
    assert seen.value("jobs", "running", queue="(null)") == pytest.approx(30_000, rel=0.05)


def test_a_wrong_statistic_does_not_make_a_look_scan_the_table(database: Database) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs SET (autovacuum_enabled = off)")
    database.execute("CREATE INDEX ON jobs (run_at, id) WHERE status = 'pending'")
    database.execute("INSERT INTO jobs (status) SELECT 'pending' FROM generate_series(1, 250000)")
    database.execute("ANALYZE jobs")
    database.execute("UPDATE jobs SET status = 'done'")
    database.execute("DROP INDEX jobs_running; CREATE INDEX ON jobs (id) WHERE status = 'running'")
    table = collection_of(database).table
    connection: Any = database.connect()
    with bounded.transaction(connection, table):
        parameters = {"limit": job_sample.CAP + 1}
        for look in (job_sample.jobs_in(table, "pending", ordered=True), job_sample.jobs_in(table, "running")):
            plan = plans.explain(connection, look, parameters)
            assert [scan["Node Type"] for scan in plans.job_scans(plan) if scan["Node Type"] == "Seq Scan"] == []


def test_a_probe_that_took_long_is_not_run_again_before_a_hundred_times_as_long(database: Database) -> None:
    create_field_table(database)
    seen = collection_of(database, FIELD).healthy()
    database.execute("INSERT INTO jobs (queue, status) VALUES ('a', 'pending')")
    seen.collector._tables["jobs"].runs.pace.looked("jobs", 1.0)
    seen.clock.seconds += 98.9
    seen.collector.collect(seen.table)
    assert seen.jobs("a") == {}
    seen.clock.seconds += 0.2
    seen.collector.collect(seen.table)
    assert seen.jobs("a") == {"ready": 1}
