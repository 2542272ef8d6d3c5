"""Ending one session: only the same one in the same transaction, and never those that must not be."""

from __future__ import annotations

import logging
import os
import signal
from typing import TYPE_CHECKING

import pytest

from pgq_ops.tasks import end_session
from pgq_ops.tasks.end_session import Fate
from tests.support.agent import wait_until
from tests.support.sessions import counted, is_over, is_there, opened, ours, transaction_of

if TYPE_CHECKING:
    from tests.support.database import Database


@pytest.mark.parametrize("statement", ["UPDATE t SET id = id", "SELECT FROM t"])
def test_an_idle_session_is_ended_and_gone_and_its_work_is_rolled_back(
    database: Database, app: str, statement: str
) -> None:
    session = opened(database, "report-job", "INSERT INTO t VALUES (2)", statement, user=app)
    one = transaction_of(database, session)
    done = end_session.end(ours(database), one.pid, one.started, "a test")
    assert (done.fate, done.application_name, done.user) == (Fate.ENDED, "report-job", app)
    assert not is_there(database, one.pid)
    assert is_over(session)
    assert database.value("SELECT count(*) FROM t") == 1
    assert counted(database) == 1


def test_a_session_that_is_at_work_is_ended_too_when_a_person_says_so(database: Database, app: str) -> None:
    session = opened(database, "report-job", "SELECT FROM t", user=app)
    session.pgconn.send_query(b"SELECT pg_sleep(60)")
    one = transaction_of(database, session)
    assert end_session.end(ours(database), one.pid, one.started, "a test").fate is Fate.ENDED
    assert not is_there(database, one.pid)


def test_who_how_long_and_why_is_logged(database: Database, app: str, caplog: pytest.LogCaptureFixture) -> None:
    one = transaction_of(database, opened(database, "report-job", "SELECT FROM t", user=app))
    with caplog.at_level(logging.INFO, "pgq_ops.transactions"):
        end_session.end(ours(database), one.pid, one.started, "it was asked for")
    [record] = caplog.records
    fields = record.pgq_ops_fields  # type: ignore[attr-defined]
    assert record.message == "transactions.session_ended"
    assert (fields["session"], fields["application_name"], fields["user"]) == (one.session, "report-job", app)
    assert (fields["state"], fields["why"]) == ("idle in transaction", "it was asked for")
    assert 0 <= fields["seconds"] < 60


def test_the_same_session_in_its_next_transaction_is_left_alone(database: Database, app: str) -> None:
    session = opened(database, "worker", "SELECT FROM t", user=app)
    one = transaction_of(database, session)
    session.commit()
    session.execute("SELECT FROM t")
    done = end_session.end(ours(database), one.pid, one.started, "a test")
    assert (done.fate, done.reason) == (Fate.GONE, "that transaction is over")
    assert not is_over(session)
    assert counted(database) == 0


def test_a_start_that_differs_by_a_microsecond_is_another_transaction(database: Database, app: str) -> None:
    session = opened(database, "worker", "SELECT FROM t", user=app)
    one = transaction_of(database, session)
    whole, _, fraction = one.started.partition(".")
    for other in (int(fraction) - 1, int(fraction) + 1):
        started = f"{whole}.{other:06}"
        assert end_session.end(ours(database), one.pid, started, "a test").fate is Fate.GONE
    assert not is_over(session)
    assert end_session.end(ours(database), one.pid, one.started, "a test").fate is Fate.ENDED


def test_a_session_that_is_gone_is_no_failure(database: Database, app: str) -> None:
    session = opened(database, "worker", "SELECT FROM t", user=app)
    one = transaction_of(database, session)
    session.close()
    assert end_session.end(ours(database), one.pid, one.started, "a test").fate is Fate.GONE


def test_a_plan_ends_nobody_and_needs_no_more_than_to_read(database: Database, app: str) -> None:
    session = opened(database, "worker", "SELECT FROM t", user=app)
    one = transaction_of(database, session)
    assert end_session.plan(ours(database, read_only=True), one.pid, one.started).fate is Fate.ENDED
    assert not is_over(session)
    assert counted(database) == 0


def test_one_that_has_not_been_idle_for_long_enough_is_at_work_again(database: Database, app: str) -> None:
    session = opened(database, "worker", "SELECT FROM t", user=app)
    one = transaction_of(database, session)
    connection = ours(database)
    assert end_session.end(connection, one.pid, one.started, "a test", 3_600).reason == "it is at work again"
    session.pgconn.send_query(b"SELECT pg_sleep(60)")
    while transaction_of(database, session).idle:
        pass
    assert end_session.end(connection, one.pid, one.started, "a test", 0).reason == "it is at work again"
    session.cancel()
    assert is_there(database, one.pid)


def test_a_session_that_does_not_end_in_time_is_told_as_still_there(
    database: Database, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if database.server.embedded is None:
        pytest.skip("only a process of this machine can be stopped")
    monkeypatch.setattr(end_session, "WAIT_MS", 200)
    one = transaction_of(database, opened(database, "worker", "SELECT FROM t", user=app))
    os.kill(one.pid, signal.SIGSTOP)
    try:
        done = end_session.end(ours(database), one.pid, one.started, "a test")
    finally:
        os.kill(one.pid, signal.SIGCONT)
    assert (done.fate, done.reason) == (Fate.STILL_THERE, "it was told to end and had not after 0.2s")
    assert counted(database) == 0
    wait_until(lambda: not is_there(database, one.pid))
