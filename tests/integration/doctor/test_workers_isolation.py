"""The isolation level that the workers' own transactions ask for, by pg_stat_statements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks.production import worker_isolation
from tests.support.article_tables import LEASE_CLAIM, LEASE_TABLE
from tests.support.binding import LEASE
from tests.support.doctor_points import doctor

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles

JOB = {"worker": "w", "lease_seconds": 60, "job": 1, "version": 1}


@pytest.fixture
def worker(database: Database, make_role: Roles) -> str:
    """A role that works the lease table, in a database whose statements are counted."""
    database.execute("CREATE EXTENSION pg_stat_statements")
    database.execute(LEASE_TABLE)
    role = make_role("worker")
    database.execute(f'GRANT SELECT, UPDATE ON demo_queue_jobs TO "{role}"')
    return role


def work(database: Database, role: str, *statements: str, claims: int = 0) -> None:
    with database.connect(user=role) as session:
        for statement in statements:
            session.execute(statement.encode())
        for _ in range(claims):
            session.execute(LEASE_CLAIM.encode(), JOB)
    session.close()


@pytest.mark.parametrize(
    "statement",
    [
        "BEGIN ISOLATION LEVEL REPEATABLE READ",
        "/* a tag */ begin transaction isolation  level serializable",
        "START TRANSACTION ISOLATION LEVEL SERIALIZABLE, READ WRITE",
        "SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL REPEATABLE READ",
    ],
)
def test_transactions_of_workers_that_ask_for_more_than_read_committed_are_found(
    database: Database, worker: str, statement: str
) -> None:
    work(database, worker, statement, "COMMIT", claims=9)
    found = doctor(database, LEASE).finding(worker_isolation)
    assert found.severity == "warning"
    assert f"1 time {worker} asked for an isolation level" in found.summary
    assert list(found.evidence["statements"].values()) == [1]
    assert all(line.startswith("-- ") for line in found.remedy.splitlines())


def test_a_level_set_within_a_transaction_is_found_too(database: Database, worker: str) -> None:
    work(database, worker, "BEGIN", "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ", "COMMIT")
    assert doctor(database, LEASE).finding(worker_isolation)


@pytest.mark.parametrize(
    "statement",
    ["BEGIN ISOLATION LEVEL READ COMMITTED", "BEGIN ISOLATION LEVEL REPEATABLE READ, READ ONLY", "BEGIN", "SELECT 1"],
)
def test_transactions_in_which_no_claim_can_fail_for_it_are_not(
    database: Database, worker: str, statement: str
) -> None:
    work(database, worker, statement, "COMMIT", claims=1)
    assert "asks for more" in doctor(database, LEASE).passed(worker_isolation)


def test_what_is_rare_beside_the_claims_is_told_and_no_finding(database: Database, worker: str) -> None:
    work(database, worker, "BEGIN ISOLATION LEVEL SERIALIZABLE", "COMMIT", claims=11)
    assert "1 transaction asked for more, of 11 claims seen" in doctor(database, LEASE).passed(worker_isolation)


def test_others_transactions_do_not_count(database: Database, worker: str, make_role: Roles) -> None:
    work(database, make_role("reporter"), "BEGIN ISOLATION LEVEL SERIALIZABLE", "COMMIT")
    assert worker in doctor(database, LEASE).passed(worker_isolation)


def test_a_level_that_the_text_does_not_tell_is_unknown(database: Database, worker: str, pg_major: int) -> None:
    work(database, worker, "SET default_transaction_isolation TO 'serializable'")
    one = doctor(database, LEASE)
    if pg_major < 18:  # which keep the value
        assert one.finding(worker_isolation)
    else:
        assert "SET default_transaction_isolation TO $1" in one.unknown(worker_isolation)


def test_what_is_not_counted_is_unknown_and_the_way_to_see_it_is_told(database: Database, worker: str) -> None:
    database.execute("DROP EXTENSION pg_stat_statements")
    verdict = doctor(database, LEASE).verdict(worker_isolation)
    assert verdict.outcome == "unknown"
    assert verdict.remedy == "CREATE EXTENSION pg_stat_statements;"
    assert verdict.text == "the extension pg_stat_statements is not here"
    database.execute("CREATE EXTENSION pg_stat_statements")
    database.execute(f'ALTER DATABASE "{database.name}" SET pg_stat_statements.track_utility = off')
    verdict = doctor(database, LEASE).verdict(worker_isolation)
    assert verdict.outcome == "unknown"
    assert "track_utility = on" in verdict.remedy
    assert worker in verdict.text
