"""The chain on real tables: with a holder, without one, and where dead rows are not to blame."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from tests.support.agent import wait_until
from tests.support.collecting import Collection, collection_of
from tests.support.jobs import create_field_table

if TYPE_CHECKING:
    from tests.support.database import Database

WAITING = "INSERT INTO jobs (run_at) SELECT now() - interval '1 m' FROM generate_series(1, 300)"
ENQUEUE = "INSERT INTO jobs (run_at) SELECT now() - (1 + random()) * interval '1 h' FROM generate_series(1, 1000)"
FINISH = "UPDATE jobs SET status = 'done' WHERE status = 'pending' AND run_at < now() - interval '50 m'"
ROUNDS = 8


@pytest.fixture
def jobs(database: Database) -> Database:
    """Jobs in the order of their claims, and nobody who vacuums but the test."""
    create_field_table(database)
    database.execute("ALTER TABLE jobs SET (autovacuum_enabled = off)")
    database.execute("CREATE INDEX jobs_pending ON jobs (run_at, id) WHERE status = 'pending'")
    database.execute(WAITING)
    vacuum(database, "VACUUM ANALYZE jobs")
    return database


def counted(jobs: Database, what: str) -> int:
    """What the statistics say, which before PostgreSQL 15 come a moment later."""
    return int(jobs.value(f"SELECT {what} FROM pg_stat_user_tables WHERE relname = 'jobs'"))


def vacuum(jobs: Database, command: str) -> None:
    before = counted(jobs, "vacuum_count")
    jobs.execute(command)
    wait_until(lambda: counted(jobs, "vacuum_count") > before, what="a counted vacuum")


def churn(jobs: Database) -> None:
    """Come and go; the session's end has it counted."""
    with psycopg.connect(jobs.dsn, autocommit=True) as worker:
        for _ in range(ROUNDS):
            worker.execute(ENQUEUE)
            worker.execute(FINISH)
    wait_until(lambda: counted(jobs, "n_dead_tup") >= ROUNDS * 1000, what="counted dead rows")


def held(jobs: Database, **settings: str) -> psycopg.Connection[Any]:
    report = jobs.connect(application_name="report-job", autocommit=False, **settings)
    report.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
    report.execute("SELECT 1")
    return report


def seen(collection: Collection) -> set[str]:
    collection.healthy()
    return collection.finding_ids() - {"oldest-ready-slo"}


def test_a_vacuum_that_leaves_them_names_whoever_began_before_it_however_young(jobs: Database) -> None:
    collection = collection_of(jobs)
    assert seen(collection) == {"autovacuum-off"}
    report = held(jobs)
    churn(jobs)
    collection.healthy()
    chain = collection.finding("claims-costly")
    assert "in the way, and autovacuum is off for public.jobs" in chain.summary, "nobody has tried yet"
    vacuum(jobs, "VACUUM jobs")
    collection.healthy()
    chain = collection.finding("claims-costly")
    assert chain.severity == "critical"
    assert f"cannot be removed since {chain.summary.split('since ')[1][:5]} UTC, because session" in chain.summary
    assert chain.evidence["holder"]["pid"] == report.info.backend_pid
    assert collection.finding_ids() & {"dead-rows", "horizon-held", "idle-in-transaction"} == set()
    assert collection.value("findings", "claims-costly", "critical") == 1
    jobs.execute("SELECT pg_terminate_backend(%s, 5000)", [report.info.backend_pid])
    vacuum(jobs, chain.remedy.splitlines()[-1])
    assert seen(collection) == {"autovacuum-off"}


def test_a_prepared_transaction_is_a_holder_with_a_command_of_its_own(jobs: Database, pg_major: int) -> None:
    if not int(jobs.value("SHOW max_prepared_transactions")):
        pytest.skip(f"this server ({pg_major}) takes no prepared transactions")
    collection = collection_of(jobs).healthy()
    with jobs.connect(autocommit=False) as forgotten:
        forgotten.execute("CREATE TABLE half_done ()")
        forgotten.execute("PREPARE TRANSACTION 'transfer-17'")
    churn(jobs)
    collection.collect()
    vacuum(jobs, "VACUUM jobs")
    collection.healthy()
    chain = collection.finding("claims-costly")
    assert 'because prepared transaction "transfer-17"' in chain.summary
    jobs.execute(next(line for line in chain.remedy.splitlines() if line.startswith("ROLLBACK PREPARED")))
    vacuum(jobs, chain.remedy.splitlines()[-1])
    assert "claims-costly" not in seen(collection)


def test_a_claim_that_costs_as_much_by_its_plan_is_no_chain(jobs: Database) -> None:
    report = held(jobs)
    churn(jobs)
    jobs.execute("DROP INDEX jobs_pending")
    collection = collection_of(jobs)
    assert "claims-costly" not in seen(collection)
    assert (collection.value("claim_buffers") or 0) >= 100, "it is dear, by reading the table"
    report.close()
