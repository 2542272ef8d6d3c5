"""Which transactions are seen, with real sessions: the clients', with what they hold back, and nobody else's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from pgq_ops.stats import transactions
from pgq_ops.tasks import end_session
from pgq_ops.tasks.end_session import Fate
from tests.support.agent import wait_until
from tests.support.collecting import Collection, collection_of
from tests.support.jobs import create_field_table
from tests.support.sessions import opened, pid, transaction_of
from tests.support.vacuuming import begun

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.stats.transactions import Transactions
    from tests.support.database import Database
    from tests.support.roles import Roles

METRICS = (
    "long_transactions",
    "idle_in_transaction_sessions",
    "longest_transaction_seconds",
    "blocked_sessions",
)


@pytest.fixture
def jobs(database: Database) -> Database:
    create_field_table(database)
    database.execute("CREATE TABLE t (id int PRIMARY KEY, n int)")
    database.execute("INSERT INTO t SELECT n, 0 FROM generate_series(1, 100) AS n")
    return database


def seen(database: Database, **options: Any) -> Transactions:
    """As the probe looks."""
    connection = database.connect(**{"application_name": "pgq-ops/probes", **options})
    found = transactions.read(connection)
    connection.close()
    return found


def collecting(database: Database, warn_after_seconds: float, role: str | None = None) -> Collection:
    collection = collection_of(database, role=role)
    collection.collector.warn_after_seconds = warn_after_seconds
    return collection


@pytest.mark.case("V5")
def test_all_four_are_idle_in_transaction_and_only_the_last_two_hold_vacuum(jobs: Database) -> None:
    begun(jobs, "read", "SELECT FROM t")
    begun(jobs, "wrote nothing", "UPDATE t SET n = n WHERE id = 999")
    begun(jobs, "wrote one", "UPDATE t SET n = n WHERE id = 1")
    begun(jobs, "repeatable", "SELECT FROM t", repeatable=True)
    # The ten minutes of the case are a tenth of a second here.
    wait_until(lambda: len(seen(jobs).idle_for(0.1)) == 4)
    found = seen(jobs).sessions
    assert [(one.application_name, one.state, one.holds_vacuum) for one in found] == [
        ("read", "idle in transaction", False),
        ("wrote nothing", "idle in transaction", False),
        ("wrote one", "idle in transaction", True),
        ("repeatable", "idle in transaction", True),
    ]
    collection = collecting(jobs, 0.1).healthy()
    assert collection.value("idle_in_transaction_sessions") == collection.value("long_transactions") == 4
    finding = collection.finding("idle-in-transaction")
    assert (finding.severity, finding.evidence["idle"], finding.evidence["holding_vacuum"]) == ("warning", 4, 2)
    listed = [one["application_name"] for one in finding.evidence["sessions"]]
    assert listed == ["wrote one", "repeatable", "read", "wrote nothing"]
    assert finding.summary.startswith(
        f"session {found[2].pid} (wrote one, user postgres) has been idle in a transaction"
    )
    assert "and holds vacuum back; 3 others for more than 0.1s" in finding.summary
    assert "long-transactions" not in collection.finding_ids(), "one finding tells of a session, not two"


def test_an_idle_session_that_only_read_is_told_to_hold_back_no_vacuum(jobs: Database) -> None:
    begun(jobs, "read", "SELECT FROM t")
    collection = collecting(jobs, 0.0).healthy()
    finding = collection.finding("idle-in-transaction")
    assert "and keeps its locks, though it holds no vacuum back" in finding.summary
    assert finding.evidence["sessions"][0]["xid_age"] is None


def test_without_open_transactions_everything_is_0_and_nothing_is_wrong(jobs: Database) -> None:
    jobs.connect(application_name="idle outside a transaction").execute("SELECT 1")
    collection = collecting(jobs, 0.0).healthy()
    assert [collection.values(name) for name in METRICS] == [{(): 0}] * 4
    assert not collection.finding_ids() & {"idle-in-transaction", "long-transactions", "blocked-sessions"}


def test_a_statement_that_goes_on_is_a_long_transaction_and_not_idle(jobs: Database) -> None:
    running = jobs.connect(application_name="report")
    running.pgconn.send_query(b"SELECT pg_sleep(60)")
    wait_until(lambda: len(seen(jobs).longer_than(0.2)) == 1)
    collection = collecting(jobs, 0.2).healthy()
    finding = collection.finding("long-transactions")
    assert f"session {pid(running)} (report, user postgres) has had a transaction open for " in finding.summary
    assert "and holds vacuum back" in finding.summary
    assert finding.evidence["sessions"][0]["idle_seconds"] is None
    assert "pg_sleep" not in str(finding), "no statement's text reaches a finding"
    assert collection.value("idle_in_transaction_sessions") == 0
    assert "idle-in-transaction" not in collection.finding_ids()
    collection.collector.warn_after_seconds = 3600
    collection.healthy()
    assert collection.value("long_transactions") == 0
    assert "long-transactions" not in collection.finding_ids()
    assert (collection.value("longest_transaction_seconds") or 0) >= 0.2
    running.cancel()


def test_a_transaction_that_failed_keeps_nothing_and_is_none_any_more(jobs: Database) -> None:
    failed = begun(jobs, "failed", "UPDATE t SET n = n WHERE id = 1")
    with pytest.raises(psycopg.errors.DivisionByZero):
        failed.execute("SELECT 1/0")
    state = "SELECT state, xact_start IS NULL FROM pg_stat_activity WHERE pid = %s"
    assert jobs.rows(state, [pid(failed)]) == [("idle in transaction (aborted)", True)]
    assert jobs.value("SELECT count(*) FROM pg_locks WHERE pid = %s AND locktype <> 'virtualxid'", [pid(failed)]) == 0
    assert seen(jobs).sessions == ()


@pytest.mark.case("V7")
def test_a_walsender_in_a_transaction_is_no_client(jobs: Database) -> None:
    sender = psycopg.connect(f"{jobs.dsn} replication=database", autocommit=True)
    jobs.adopt(sender)
    sender.execute("BEGIN")
    sender.execute("SELECT 1")
    state = "SELECT state, backend_type FROM pg_stat_activity WHERE pid = %s"
    assert jobs.rows(state, [pid(sender)]) == [("idle in transaction", "walsender")]
    begun(jobs, "client", "SELECT 1")
    assert [one.application_name for one in seen(jobs).sessions] == ["client"]
    sender.close()


@pytest.mark.case("V7")
def test_autovacuum_at_its_work_is_no_client(jobs: Database) -> None:
    jobs.execute("""
        CREATE TABLE big (n int) WITH (autovacuum_vacuum_threshold = 1, autovacuum_vacuum_scale_factor = 0,
            autovacuum_vacuum_cost_delay = 100, autovacuum_vacuum_cost_limit = 1);
        INSERT INTO big SELECT generate_series(1, 20000);
        DELETE FROM big WHERE n % 2 = 0
    """)
    jobs.server.execute("ALTER SYSTEM SET autovacuum_naptime = '1s'")
    try:
        jobs.server.execute("SELECT pg_reload_conf()")
        works = "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'autovacuum worker' AND xact_start IS NOT NULL AND query LIKE '%public.big%'"
        wait_until(lambda: jobs.rows(works), 30)
        assert seen(jobs).sessions == ()
        [(worker,)] = jobs.rows(works)
        start = "SELECT extract(epoch FROM xact_start)::text FROM pg_stat_activity WHERE pid = %s"
        asked = end_session.plan(jobs.connect(), worker, jobs.value(start, [worker]))
        assert (asked.fate, asked.reason) == (Fate.REFUSED, "it is no client's session")
    finally:
        jobs.server.execute("ALTER SYSTEM RESET autovacuum_naptime")
        jobs.server.execute("SELECT pg_reload_conf()")


@pytest.mark.case("V7")
@pytest.mark.parametrize("statement", ["CREATE INDEX CONCURRENTLY i ON t (n)", "REINDEX INDEX CONCURRENTLY t_pkey"])
def test_an_index_that_is_built_concurrently_is_no_long_transaction(jobs: Database, statement: str) -> None:
    writer = begun(jobs, "writer", "UPDATE t SET n = n WHERE id = 1")
    building = jobs.connect(application_name="migration")
    building.pgconn.send_query(statement.encode())
    waits = "SELECT count(*) FROM pg_stat_progress_create_index WHERE pid = %s AND phase LIKE 'waiting for %%'"
    wait_until(lambda: jobs.value(waits, [pid(building)]) == 1)
    open_ = "SELECT xact_start IS NOT NULL, state FROM pg_stat_activity WHERE pid = %s"
    assert jobs.rows(open_, [pid(building)]) == [(True, "active")]
    assert [one.application_name for one in seen(jobs).sessions] == ["writer"]
    writer.rollback()
    building.cancel()


def test_a_parallel_worker_is_part_of_its_leader_s_transaction(jobs: Database) -> None:
    jobs.execute("CREATE TABLE big AS SELECT generate_series(1, 20000) AS n; ANALYZE big")
    leader = jobs.connect(application_name="query")
    for setting in ("parallel_setup_cost = 0", "parallel_tuple_cost = 0", "min_parallel_table_scan_size = 0"):
        leader.execute(f"SET {setting}".encode())
    leader.pgconn.send_query(b"SELECT count(pg_sleep(60)) FROM big")
    workers = "SELECT count(*) FROM pg_stat_activity WHERE leader_pid = %s AND xact_start IS NOT NULL"
    wait_until(lambda: jobs.value(workers, [pid(leader)]) > 0)
    assert [one.pid for one in seen(jobs).sessions] == [pid(leader)]
    leader.cancel()


def test_an_index_that_is_built_in_the_ordinary_way_is_one(jobs: Database) -> None:
    jobs.execute(
        "CREATE FUNCTION slowly(n int) RETURNS int IMMUTABLE LANGUAGE plpgsql AS"
        " $$ BEGIN PERFORM pg_sleep(60); RETURN n; END $$"
    )
    building = jobs.connect(application_name="migration")
    building.pgconn.send_query(b"CREATE INDEX i ON t (slowly(n))")
    builds = "SELECT count(*) FROM pg_stat_progress_create_index WHERE pid = %s"
    wait_until(lambda: jobs.value(builds, [pid(building)]) == 1)
    assert [one.application_name for one in seen(jobs).sessions] == ["migration"]
    building.cancel()


def test_sessions_of_other_databases_and_our_own_are_left_out(
    jobs: Database, make_database: Callable[[], Database]
) -> None:
    begun(make_database(), "elsewhere", "SELECT 1")
    begun(jobs, "pgq-ops/maintenance", "SELECT 1")
    begun(jobs, "pgq-ops", "SELECT 1")
    assert [one.application_name for one in seen(jobs).sessions] == ["pgq-ops"]


def test_the_same_transaction_is_recognised_and_the_next_one_is_another(jobs: Database) -> None:
    session = begun(jobs, "web", "SELECT 1")
    first = transaction_of(jobs, session)
    session.execute("SELECT 2")
    again = transaction_of(jobs, session)
    assert (again.session, again.session.count("@")) == (first.session, 1)
    session.commit()
    session.execute("SELECT 3")
    assert transaction_of(jobs, session).session != first.session


@pytest.mark.case("V8")
def test_a_role_that_does_not_see_others_says_so_and_exports_nothing(jobs: Database, make_role: Roles) -> None:
    role = make_role("blind")
    jobs.execute(f'GRANT SELECT ON jobs TO "{role}"')
    begun(jobs, "worker", "UPDATE t SET n = n WHERE id = 1")
    opened(jobs, "own", "SELECT 1", user=role)
    found = seen(jobs, user=role)
    assert not found.visible
    assert [one.application_name for one in found.sessions] == ["own"], "its own sessions it does see"
    collection = collecting(jobs, 0.0, role=role).healthy()
    assert [collection.values(name) for name in METRICS] == [{}] * 4
    assert not collection.finding_ids() & {"idle-in-transaction", "long-transactions", "blocked-sessions"}
    jobs.execute(f'GRANT pg_monitor TO "{role}"')
    assert {one.application_name for one in seen(jobs, user=role).sessions} == {"worker", "own"}
    collection.healthy()
    assert collection.value("idle_in_transaction_sessions") == 2


def test_who_is_a_superuser_is_told_and_gets_another_remedy(jobs: Database, make_role: Roles) -> None:
    role = make_role("worker")
    plain, super_ = (opened(jobs, "app", "SELECT 1", **options) for options in ({"user": role}, {}))
    one, other = transaction_of(jobs, plain), transaction_of(jobs, super_)
    assert (one.superuser, one.user, one.remedy) == (False, role, f"pgq-ops transactions end {one.session}")
    assert other.superuser
    jobs.execute(other.remedy.partition(";")[0])
    with pytest.raises(psycopg.OperationalError):
        super_.execute("SELECT 1")
    plain.execute("SELECT 1")
