"""Whether heartbeats can be HOT updates."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks.production import hot_heartbeats
from tests.support.agent import wait_until
from tests.support.doctor_points import BY_RUN_AT, doctor, remedies
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from tests.support.database import Database

LEASED_AT = FIELD.replace("lease_expires_at", "leased_at") + '[job_tables.jobs.lease]\ntimeout = "5m"\n'


def counted(database: Database, updates: int) -> None:
    """Until 15 the counters of a session that has ended arrive a little later."""
    counter = "SELECT pg_stat_get_tuples_updated('jobs'::regclass)"
    wait_until(lambda: database.value(counter) == updates, 10, "the updates are counted")


@pytest.fixture
def jobs(database: Database) -> Database:
    create_field_table(database)
    return database


@pytest.mark.parametrize(
    "index",
    [
        "jobs (lease_until)",
        "jobs (id, lease_until) WHERE status = 'running'",
        "jobs (id) INCLUDE (lease_until)",
        "jobs (id) WHERE lease_until IS NOT NULL",
        "jobs (COALESCE(lease_until, run_at))",
    ],
)
def test_an_index_that_holds_or_reads_the_heartbeat_s_column_is_found(jobs: Database, index: str) -> None:
    assert doctor(jobs).passed(hot_heartbeats)
    jobs.execute(f'CREATE INDEX "of leases" ON {index}')
    found = doctor(jobs).finding(hot_heartbeats)
    assert found.evidence == {"indexes": ["public.of leases"], "columns": ["lease_until"]}
    [statement] = [line for line in found.remedy.splitlines() if line.startswith("DROP")]
    jobs.execute(statement)
    assert doctor(jobs).passed(hot_heartbeats)


@pytest.mark.parametrize(("heartbeats", "severity"), [(3, "info"), (9, "info"), (11, "warning")])
def test_such_an_index_is_a_warning_where_heartbeats_abound(jobs: Database, heartbeats: int, severity: str) -> None:
    jobs.execute("CREATE INDEX ON jobs (lease_until)")
    worker = jobs.connect()
    worker.execute("INSERT INTO jobs (status, lease_until) SELECT 'running', now() FROM generate_series(1, 1000)")
    for _ in range(heartbeats):
        worker.execute("UPDATE jobs SET lease_until = lease_until + interval '1 s'")
    worker.close()
    counted(jobs, 1_000 * heartbeats)
    assert doctor(jobs).finding(hot_heartbeats).severity == severity


def test_a_unique_constraint_on_the_heartbeat_s_column_is_found_too(jobs: Database) -> None:
    jobs.execute("ALTER TABLE jobs ADD CONSTRAINT odd UNIQUE (lease_until, id)")
    assert doctor(jobs).finding(hot_heartbeats).evidence["indexes"] == ["public.odd"]


def test_indexes_of_each_leaf_are_looked_at(database: Database) -> None:
    database.execute("""
        CREATE TABLE jobs (id bigint, status text, run_at timestamptz, lease_until timestamptz, locked_by text, attempts int,
            max_attempts int, queue text, created_at timestamptz, finished_at timestamptz, last_error text)
            PARTITION BY RANGE (id);
        CREATE TABLE jobs_1 PARTITION OF jobs FOR VALUES FROM (1) TO (100);
        CREATE TABLE jobs_2 PARTITION OF jobs FOR VALUES FROM (100) TO (200);
        CREATE INDEX on_two ON jobs_2 (lease_until)
    """)
    assert doctor(database).finding(hot_heartbeats).evidence["indexes"] == ["public.on_two"]


def test_a_partitioned_index_stands_for_its_parts_and_is_dropped_as_a_whole(database: Database) -> None:
    database.execute(BY_RUN_AT)
    database.execute("CREATE TABLE jobs_all PARTITION OF jobs DEFAULT")
    database.execute('CREATE INDEX "of leases" ON jobs (lease_until)')
    found = doctor(database).finding(hot_heartbeats)
    assert found.evidence["indexes"] == ["public.of leases"]
    for statement in remedies(found):
        database.execute(statement)
    assert doctor(database).passed(hot_heartbeats)


def test_a_brin_index_stands_in_the_way_only_before_16(jobs: Database, pg_major: int) -> None:
    jobs.execute("CREATE INDEX ON jobs USING brin (lease_until)")
    one = doctor(jobs)
    assert one.passed(hot_heartbeats) if pg_major >= 16 else one.finding(hot_heartbeats)


def test_a_claim_time_that_nobody_extends_may_be_indexed(jobs: Database) -> None:
    jobs.execute("CREATE INDEX ON jobs (lease_until)")
    assert doctor(jobs, LEASED_AT).not_applicable(hot_heartbeats)


@pytest.mark.parametrize(("fillfactor", "heartbeats", "found"), [(100, 12, True), (100, 4, False), (30, 12, False)])
def test_heartbeats_that_find_no_room_are_told_by_the_counters(
    jobs: Database,
    fillfactor: int,
    heartbeats: int,
    found: bool,  # noqa: FBT001
) -> None:
    jobs.execute(f"ALTER TABLE jobs SET (fillfactor = {fillfactor}, autovacuum_enabled = off)")
    worker = jobs.connect(autocommit=False)
    worker.execute("INSERT INTO jobs (status, lease_until) SELECT 'running', now() FROM generate_series(1, 3000)")
    worker.commit()
    # All in one transaction: what it leaves behind cannot be pruned before its end.
    for _ in range(heartbeats):
        worker.execute("UPDATE jobs SET lease_until = lease_until + interval '1 s'")
    worker.commit()
    worker.close()
    counted(jobs, 3_000 * heartbeats)
    one = doctor(jobs)
    if not found:
        assert "updates were HOT" in one.passed(hot_heartbeats)
        return
    finding = one.finding(hot_heartbeats)
    assert finding.severity == "info"
    assert finding.evidence["updated"] == 36_000
    [statement] = [line for line in finding.remedy.splitlines() if line.startswith("ALTER")]
    jobs.execute(statement)
