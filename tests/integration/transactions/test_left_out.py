"""Whose transactions are none of a client's: of autovacuum, replication, index builds, other databases, ours."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

from pgq_ops.stats import blocking
from pgq_ops.tasks import end_session
from pgq_ops.tasks.end_session import Fate
from tests.support.agent import wait_until
from tests.support.sessions import opened, ours, pid, seen, waiting
from tests.support.vacuuming import begun

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.database import Database
    from tests.support.roles import Roles


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


def test_who_only_calls_itself_ours_is_seen_and_may_be_ended(jobs: Database, make_role: Roles) -> None:
    role = make_role("pretender")
    pretender = opened(jobs, "pgq-ops/x", "SELECT 1", user=role)
    begun(jobs, "pgq-ops/maintenance", "SELECT 1")
    assert [(one.pid, one.application_name) for one in seen(jobs).sessions] == [(pid(pretender), "pgq-ops/x")]
    [found] = seen(jobs).sessions
    assert end_session.end(ours(jobs), found.pid, found.started, "tried").fate is Fate.ENDED


def test_who_waits_and_only_calls_itself_ours_is_a_waiter(jobs: Database, make_role: Roles) -> None:
    role = make_role("pretender")
    jobs.execute(f'GRANT ALL ON t TO "{role}"')
    begun(jobs, "writer", "LOCK TABLE t")
    pretender = waiting(jobs, "pgq-ops/x", "SELECT FROM t", user=role)
    mine = waiting(jobs, "pgq-ops/probes", "SELECT FROM t")
    assert seen(jobs).waiting == 1
    assert [one.pid for one in blocking.read(ours(jobs)).waiters] == [pid(pretender)]
    for session in (pretender, mine):
        session.cancel()
