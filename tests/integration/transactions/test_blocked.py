"""Who waits for a lock on the job table, behind whom, and who is at the end: with real sessions and real locks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.db.connection import PROBE_LIMITS
from pgq_ops.stats import blocking, transactions
from pgq_ops.stats.blocking import Blocking
from tests.support.agent import wait_until
from tests.support.collecting import Collection, collection_of
from tests.support.jobs import FIELD, create_field_table
from tests.support.sessions import IS_THERE, opened, pid, waiting

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles

CLAIM = "UPDATE jobs SET status = 'running' WHERE id = 1"


@pytest.fixture
def jobs(database: Database) -> Database:
    create_field_table(database)
    database.execute("INSERT INTO jobs (id) VALUES (1), (2)")
    database.execute("CREATE TABLE accounts (id int PRIMARY KEY)")
    database.execute("INSERT INTO accounts VALUES (1)")
    return database


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A wait is a finding at once: the limit has tests of its own."""
    monkeypatch.setattr("pgq_ops.checks.blocked.LONGEST_SECONDS", 0.0)


def seen(database: Database) -> Blocking:
    """As the probe looks."""
    connection = database.connect(application_name="pgq-ops/probes")
    found = blocking.read(connection) if transactions.read(connection).waiting else Blocking()
    connection.close()
    return found


def collected(database: Database, toml: str = FIELD) -> Collection:
    # With the agent's own limits: nothing here may wait for a lock.
    return collection_of(database, toml, limits=PROBE_LIMITS)


def oid(database: Database, table: str) -> int:
    return int(database.value(f"SELECT '{table}'::regclass::oid::bigint"))


def test_the_chain_is_told_from_a_claim_over_ddl_to_the_forgotten_transaction(jobs: Database, make_role: Roles) -> None:
    bi = make_role("bi")
    jobs.execute(f'GRANT SELECT ON jobs TO "{bi}"')
    reader = opened(jobs, "report-job", "SELECT FROM jobs", user=bi)
    ddl = waiting(jobs, "migration", "ALTER TABLE jobs ADD COLUMN more text")
    claim = waiting(jobs, "worker-1", CLAIM)
    found = seen(jobs)
    assert {one.pid: (one.blocked_by, one.mode, one.what) for one in found.waiters} == {
        pid(ddl): ((pid(reader),), "AccessExclusiveLock", "public.jobs"),
        pid(claim): ((pid(ddl),), "RowExclusiveLock", "public.jobs"),
    }
    assert all(one.tables == {oid(jobs, "jobs")} and one.seconds is not None for one in found.waiters)
    collection = collected(jobs)
    collection.collect()
    assert collection.value("blocked_sessions") == 2
    finding = collection.finding("blocked-sessions")
    assert finding.severity == "critical"
    assert finding.summary.startswith("2 sessions on public.jobs wait for locks, for up to ")
    assert finding.summary.partition(": ")[2].startswith(
        f"session {pid(claim)} (worker-1, user postgres) waits for public.jobs (RowExclusiveLock) behind"
        f" session {pid(ddl)} (migration, user postgres), which waits for public.jobs (AccessExclusiveLock) behind"
        f" session {pid(reader)} (report-job, user {bi}), which is idle in transaction, in a transaction open for "
    )
    assert [one["pid"] for one in finding.evidence["chain"]] == [pid(claim), pid(ddl)]
    assert (finding.evidence["end"]["pid"], finding.evidence["behind_the_end"]) == (pid(reader), 2)
    assert "more text" not in str(finding), "no statement's text reaches a finding"
    [transaction] = [one for one in transactions.read(jobs.connect()).sessions if one.pid == pid(reader)]
    assert finding.remedy == f"pgq-ops transactions end --yes {transaction.session}"
    reader.close()
    wait_until(lambda: not seen(jobs).waiters)
    collection.healthy()
    assert collection.value("blocked_sessions") == 0
    assert "blocked-sessions" not in collection.finding_ids()


def test_a_queue_for_one_row_leads_to_its_holder_by_the_shortest_way(jobs: Database) -> None:
    holder = opened(jobs, "stuck-worker", CLAIM)
    waiters = [waiting(jobs, f"worker-{n}", CLAIM) for n in range(4)]
    found = seen(jobs)
    first, *others = found.waiters
    assert (first.pid, first.blocked_by, first.what) == (pid(waiters[0]), (pid(holder),), "a row of public.jobs")
    assert [one.pid for one in others] == [pid(one) for one in waiters[1:]], "who waits longest comes first"
    assert all(pid(waiters[0]) in one.blocked_by for one in others)
    collection = collected(jobs)
    collection.collect()
    finding = collection.finding("blocked-sessions")
    assert [one["pid"] for one in finding.evidence["chain"]] == [pid(waiters[1]), pid(waiters[0])]
    assert (finding.evidence["waiting"], finding.evidence["behind_the_end"]) == (4, 4)
    assert finding.evidence["end"]["application_name"] == "stuck-worker"
    holder.close()


def test_workers_that_wait_are_no_long_transactions_and_the_chain_is_told_once(jobs: Database) -> None:
    """Neither they nor who is in their way is told a second time, whether it idles or holds vacuum back."""
    migration = opened(jobs, "migration", "CREATE TABLE more ()", "LOCK TABLE jobs")
    workers = [waiting(jobs, f"worker-{n}", CLAIM) for n in range(3)]
    collection = collected(jobs)
    collection.collector.warn_after_seconds = 0.2
    jobs.execute("SELECT pg_sleep(0.3)")
    collection.collect()
    assert collection.finding("blocked-sessions").evidence["end"]["pid"] == pid(migration)
    assert collection.finding_ids().isdisjoint({"long-transactions", "idle-in-transaction"})
    assert collection.value("long_transactions") == 4, "the metric counts what is there"
    opened(jobs, "report", "SELECT FROM accounts")
    jobs.execute("SELECT pg_sleep(0.3)")
    collection.collect()
    named = [one["application_name"] for one in collection.finding("idle-in-transaction").evidence["sessions"]]
    assert sorted(named) == ["migration", "report"]
    migration.close()
    for worker in workers:
        worker.close()


def test_only_sessions_that_have_to_do_with_the_table_count_for_it(jobs: Database) -> None:
    opened(jobs, "holder", "UPDATE accounts SET id = id")
    waiting(jobs, "stranger", "UPDATE accounts SET id = id")
    collection = collected(jobs).healthy()
    assert len(seen(jobs).waiters) == 1
    assert collection.value("blocked_sessions") == 0
    assert "blocked-sessions" not in collection.finding_ids()
    waiting(jobs, "worker", f"BEGIN; {CLAIM}; UPDATE accounts SET id = id")
    assert collection.healthy().value("blocked_sessions") == 1
    assert collection.finding("blocked-sessions").evidence["chain"][0]["application_name"] == "worker"


def test_a_lock_on_a_partition_counts_for_the_partitioned_table(database: Database) -> None:
    database.execute("""
        CREATE TABLE jobs (id bigint, queue text, status text DEFAULT 'pending', attempts int, max_attempts int,
            lease_until timestamptz, locked_by text, run_at timestamptz, created_at timestamptz, last_error text,
            finished_at timestamptz, PRIMARY KEY (id)) PARTITION BY RANGE (id);
        CREATE TABLE jobs_1 PARTITION OF jobs FOR VALUES FROM (0) TO (100)
    """)
    collection = collected(database).healthy()
    collection.healthy()  # by now the leaves are known
    opened(database, "holder", "LOCK TABLE jobs_1 IN SHARE MODE")
    waiting(database, "loader", "INSERT INTO jobs_1 (id) VALUES (1)")
    assert collection.healthy().value("blocked_sessions") == 1
    assert "public.jobs_1 (RowExclusiveLock)" in collection.finding("blocked-sessions").summary


def test_a_prepared_transaction_at_the_end_is_named_with_its_remedy(jobs: Database) -> None:
    session = opened(jobs, "coordinator", CLAIM)
    session.execute("PREPARE TRANSACTION 'it''s 100%%'")
    session.close()
    waiter = waiting(jobs, "worker", CLAIM)
    [blocker] = seen(jobs).blockers
    assert (blocker.pid, blocker.application_name, blocker.user) == (0, "it's 100%%", "postgres")
    collection = collected(jobs)
    collection.collect()
    finding = collection.finding("blocked-sessions")
    assert 'behind prepared transaction "it\'s 100%%" (user postgres), which is prepared' in finding.summary
    assert finding.remedy.splitlines() == [
        "-- in its database; COMMIT PREPARED instead where its transaction manager has decided so",
        "ROLLBACK PREPARED 'it''s 100%%';",
    ]
    jobs.execute(finding.remedy)
    wait_until(lambda: not seen(jobs).waiters)
    waiter.cancel()


@pytest.mark.case("M1")
@pytest.mark.parametrize("queued", [False, True], ids=["held", "queued"])
def test_neither_look_waits_for_an_access_exclusive_lock_on_the_table(
    jobs: Database,
    queued: bool,  # noqa: FBT001
) -> None:
    connection = jobs.connect(application_name="pgq-ops/probes", options="-c lock_timeout=1 -c statement_timeout=2000")
    exclusive = "ALTER TABLE jobs ADD COLUMN more text"
    opened(jobs, "holder", "SELECT FROM jobs" if queued else exclusive)
    waiter = waiting(jobs, "waiter", exclusive if queued else "SELECT FROM jobs")
    assert transactions.read(connection).waiting == 1
    assert [one.pid for one in blocking.read(connection).waiters] == [pid(waiter)]


def test_a_wait_that_is_no_lock_and_one_of_ours_are_none(jobs: Database) -> None:
    holder = opened(jobs, "holder", CLAIM)
    ours = jobs.connect(application_name="pgq-ops/leader")
    ours.pgconn.send_query(CLAIM.encode())
    sleeping = jobs.connect(application_name="sleeping")
    sleeping.pgconn.send_query(b"SELECT pg_sleep(60)")
    waits = "SELECT wait_event_type FROM pg_stat_activity WHERE pid = %s"
    wait_until(lambda: jobs.value(waits, [pid(ours)]) == "Lock" and jobs.value(waits, [pid(sleeping)]) == "Timeout")
    connection = jobs.connect(application_name="pgq-ops/probes")
    assert transactions.read(connection).waiting == 0
    assert blocking.read(connection).waiters == ()
    holder.close()
    sleeping.cancel()
    assert jobs.value(IS_THERE, [pid(connection)]) == 1
