"""Which transactions are seen, with real sessions: the clients', with what they hold back, and nobody else's."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest

from tests.support.agent import wait_until
from tests.support.collecting import Collection, collection_of
from tests.support.sessions import opened, pid, seen, transaction_of
from tests.support.vacuuming import begun

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles

METRICS = (
    "long_transactions",
    "idle_in_transaction_sessions",
    "longest_transaction_seconds",
    "blocked_sessions",
)


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
    assert (one.superuser, one.user, one.remedy) == (False, role, f"pgq-ops transactions end --yes {one.session}")
    assert other.superuser
    jobs.execute(other.remedy.partition(";")[0])
    with pytest.raises(psycopg.OperationalError):
        super_.execute("SELECT 1")
    plain.execute("SELECT 1")
