"""Who leads a job table, and when that ends."""

from __future__ import annotations

import math
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from pydantic import SecretStr

from pgq_ops.config.model import Database as DatabaseConfig
from pgq_ops.config.policy import Lease, QueuePolicy, Reaper, Slo
from pgq_ops.db.connection import WRITE_LIMITS, Purpose
from pgq_ops.db.session import Session
from pgq_ops.errors import DatabaseUnreachable
from pgq_ops.leader.leadership import Leadership
from pgq_ops.leader.settle import Settle

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.support.database import Database

    Candidate = Callable[..., Leadership]

EMAILS = {"emails": 4711}


@pytest.fixture
def candidate(database: Database) -> Iterator[Candidate]:
    """`candidate()` makes a session that may lead; all are closed in the end."""
    sessions: list[Session] = []

    def make(mode: str = "manage", settle: Settle | None = None) -> Leadership:
        session = Session(DatabaseConfig(dsn=SecretStr(database.dsn)), Purpose.LEADER, WRITE_LIMITS)
        sessions.append(session)
        return Leadership(session, mode, settle or Settle())

    yield make
    for session in sessions:
        session.close()


def tick(leadership: Leadership, tables: dict[str, int]) -> frozenset[str]:
    leadership.prove()
    return leadership.take(tables)


def advisory_locks(database: Database) -> int:
    return int(
        database.value(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
            " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        )
    )


def end_backend(database: Database, leadership: Leadership) -> None:
    connection = leadership.connection()
    assert connection is not None
    assert database.value("SELECT pg_terminate_backend(%s, 5000)", [connection.info.backend_pid])


def test_of_two_agents_exactly_one_leads(candidate: Candidate) -> None:
    first, second = candidate(), candidate()
    assert tick(first, EMAILS) == {"emails"}
    assert tick(second, EMAILS) == frozenset()
    assert tick(first, EMAILS) == {"emails"}
    assert first.holds("emails")
    assert not second.holds("emails")


def test_each_job_table_has_a_leader_of_its_own(candidate: Candidate) -> None:
    first, second = candidate(), candidate()
    assert tick(first, EMAILS) == {"emails"}
    assert tick(second, {**EMAILS, "videos": 4712}) == {"videos"}
    assert tick(first, {**EMAILS, "videos": 4712}) == {"emails"}


def test_an_agent_that_observes_does_not_stand_in_the_way_of_one_that_manages(candidate: Candidate) -> None:
    assert tick(candidate("observe"), EMAILS) == {"emails"}
    assert tick(candidate("manage"), EMAILS) == {"emails"}


def test_leadership_ends_with_the_session_and_the_other_takes_over(candidate: Candidate) -> None:
    first, second = candidate(), candidate()
    tick(first, EMAILS)
    first._session.close()
    assert not first.holds("emails")
    assert first.led() == frozenset()
    assert tick(second, EMAILS) == {"emails"}


def test_a_terminated_leader_knows_it_at_its_next_statement_and_can_lead_again(
    candidate: Candidate, database: Database
) -> None:
    leader = candidate()
    tick(leader, EMAILS)
    end_backend(database, leader)
    with pytest.raises(DatabaseUnreachable):
        leader.prove()
    assert not leader.holds("emails")
    assert tick(leader, EMAILS) == {"emails"}


def test_a_lock_that_the_server_does_not_confirm_is_not_counted_on(candidate: Candidate) -> None:
    leader = candidate()
    tick(leader, EMAILS)
    connection = leader.connection()
    assert connection is not None
    connection.execute("SELECT pg_advisory_unlock_all()")
    with pytest.raises(Exception, match="pooler"):
        leader.prove()
    assert not leader.holds("emails")


def test_a_job_table_that_is_no_longer_wanted_is_given_back(candidate: Candidate, database: Database) -> None:
    leader = candidate()
    tick(leader, {**EMAILS, "videos": 4712})
    assert advisory_locks(database) == 2
    assert tick(leader, EMAILS) == {"emails"}
    assert advisory_locks(database) == 1
    assert tick(leader, {"emails": 4713}) == {"emails"}, "the table was made anew, with another oid"
    assert advisory_locks(database) == 1


def test_two_names_of_one_table_share_its_lock(candidate: Candidate, database: Database) -> None:
    leader = candidate()
    assert tick(leader, {"a": 4711, "b": 4711}) == {"a", "b"}
    assert advisory_locks(database) == 1


def policy(settle_seconds: float) -> QueuePolicy:
    return QueuePolicy(None, Lease(), Reaper(settle=timedelta(seconds=settle_seconds)), Slo())


def test_a_fresh_agent_need_not_wait_before_a_server_that_has_been_up(candidate: Candidate) -> None:
    settle = Settle()
    assert settle.quiet_seconds() == math.inf
    candidate(settle=settle).prove()
    assert 0 < settle.quiet_seconds() < math.inf
    assert settle.settled(policy(0))


@pytest.mark.case("R20")
def test_a_lost_connection_starts_the_settle_time_anew_when_it_is_found_again(
    candidate: Candidate, database: Database
) -> None:
    now = [1000.0]
    settle = Settle(clock=lambda: now[0])
    leader = candidate(settle=settle)
    leader.prove()
    before = settle.quiet_seconds()
    end_backend(database, leader)
    now[0] += 10
    with pytest.raises(DatabaseUnreachable):
        leader.prove()
    now[0] += 360
    leader.prove()
    assert before > 0
    assert settle.quiet_seconds() == 0
    now[0] += 59
    assert not settle.settled(policy(60))
    assert settle.settled(policy(59))
    now[0] += 1
    assert settle.settled(policy(60))
