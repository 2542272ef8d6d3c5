"""Ending one session: only the same one in the same transaction, and never those that must not be."""

from __future__ import annotations

import logging
import os
import signal
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from pydantic import SecretStr

from pgq_ops.config.model import Database as DatabaseConfig
from pgq_ops.db.connection import COMMAND_LIMITS, Purpose, connect
from pgq_ops.schema.grants import apply, plan
from pgq_ops.schema.tier import Tier
from pgq_ops.tasks import end_session
from pgq_ops.tasks.end_session import SESSIONS_ENDED, Fate
from tests.support.agent import wait_until
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table
from tests.support.sessions import is_there, opened, pid, transaction_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.db.connection import Connection
    from tests.support.database import Database
    from tests.support.roles import Roles


@pytest.fixture
def app(database: Database, make_role: Roles) -> str:
    """The role of the workers, with a table `t`."""
    role = make_role("app")
    database.execute("CREATE TABLE t (id int PRIMARY KEY)")
    database.execute(f'INSERT INTO t VALUES (1); GRANT ALL ON t TO "{role}"')
    return role


def ours(database: Database, role: str | None = None, *, read_only: bool = False) -> Connection:
    """A session as a command has it."""
    dsn = database.dsn if role is None else database.dsn_as(role)
    connection = connect(DatabaseConfig(dsn=SecretStr(dsn)), Purpose.COMMAND, COMMAND_LIMITS, read_only=read_only)
    database.adopt(connection)
    return connection


def counted(database: Database) -> float:
    return float(SESSIONS_ENDED.labels(database.name)._value.get())


def is_over(session: psycopg.Connection[Any]) -> bool:
    try:
        session.execute("SELECT 1")
    except psycopg.OperationalError:
        return True
    return False


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


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("superuser", "its role is a superuser, whose sessions pgq-ops never ends"),
        ("ours", "it is a session of pgq-ops"),
        ("elsewhere", "it is in another database"),
    ],
)
def test_nobody_is_ended_who_must_not_be(
    database: Database, app: str, make_database: Callable[[], Database], name: str, reason: str
) -> None:
    place = make_database() if name == "elsewhere" else database
    options = {} if name == "superuser" else {"user": app}
    session = opened(place, "pgq-ops/maintenance" if name == "ours" else "worker", "SELECT 1", **options)
    start = "SELECT extract(epoch FROM xact_start)::text FROM pg_stat_activity WHERE pid = %s"
    done = end_session.end(ours(database), pid(session), database.value(start, [pid(session)]), "a test")
    assert (done.fate, done.reason) == (Fate.REFUSED, reason)
    assert not is_over(session)
    assert counted(database) == 0


def test_a_session_does_not_end_itself_whatever_it_is_called(database: Database, app: str) -> None:
    asking = ours(database, app)
    asking.execute("SET application_name = 'renamed'")
    with asking.transaction():
        started = asking.execute("SELECT extract(epoch FROM now())::text").fetchall()[0][0]
        done = end_session.end(asking, pid(asking), started, "a test")
    assert (done.fate, done.reason) == (Fate.REFUSED, "it is a session of pgq-ops")


def test_background_processes_are_not_even_found_by_their_transaction(database: Database) -> None:
    ids = "SELECT pid FROM pg_stat_activity WHERE backend_type NOT IN ('client backend', 'autovacuum worker')"
    for (number,) in database.rows(ids):
        assert end_session.end(ours(database), number, "0", "a test").fate is Fate.GONE
        assert is_there(database, number)


def test_a_worker_of_somebody_else_s_is_refused_as_no_client(database: Database, app: str) -> None:
    """A parallel worker has its leader's transaction, and autovacuum and replication are processes like it."""
    database.execute(
        f'CREATE TABLE big AS SELECT generate_series(1, 20000) AS n; ANALYZE big; GRANT SELECT ON big TO "{app}"'
    )
    leader = database.connect(user=app, application_name="query")
    for setting in ("parallel_setup_cost = 0", "parallel_tuple_cost = 0", "min_parallel_table_scan_size = 0"):
        leader.execute(f"SET {setting}".encode())
    leader.pgconn.send_query(b"SELECT count(pg_sleep(60)) FROM big")
    found = "SELECT pid, extract(epoch FROM xact_start)::text FROM pg_stat_activity WHERE leader_pid = %s AND xact_start IS NOT NULL"
    rows: list[tuple[int, str]] = []
    while not rows:
        rows = database.rows(found, [pid(leader)])
    done = end_session.end(ours(database), *rows[0], "a test")
    assert (done.fate, done.reason) == (Fate.REFUSED, "it is no client's session")
    assert is_there(database, rows[0][0])
    leader.cancel()


@pytest.mark.parametrize(
    ("members", "missing"),
    [((), "pg_monitor"), (("pg_monitor",), "pg_signal_backend"), (("pg_signal_backend",), "pg_monitor")],
    ids=["nothing", "sees", "ends"],
)
def test_what_a_role_lacks_is_told_with_the_grant(
    database: Database, app: str, make_role: Roles, members: tuple[str, ...], missing: str
) -> None:
    role = make_role("ops", member_of=members)
    session = opened(database, "worker", "SELECT FROM t", user=app)
    one = transaction_of(database, session)
    connection = ours(database, role)
    planned = end_session.plan(connection, one.pid, one.started)
    done = end_session.end(connection, one.pid, one.started, "a test")
    assert done.fate is planned.fate is Fate.NOT_PERMITTED
    assert done.remedy == f'GRANT {missing} TO "{role}";'
    assert not is_over(session)


def test_a_role_with_the_tier_transactions_sees_and_ends(database: Database, app: str, make_role: Roles) -> None:
    create_field_table(database)
    role, admin = make_role("ops"), database.connect()
    planned = plan(admin, role, [bind_toml(database, FIELD).table], [Tier.TRANSACTIONS])
    assert planned[-1].statement == f'GRANT pg_signal_backend TO "{role}"'
    assert apply(admin, planned).error is None
    one = transaction_of(database, opened(database, "worker", "SELECT FROM t", user=app))
    assert end_session.end(ours(database, role), one.pid, one.started, "a test").fate is Fate.ENDED
    again = plan(admin, role, [bind_toml(database, FIELD).table], [Tier.TRANSACTIONS])
    assert "pg_signal_backend" not in str(again)
    assert "pg_signal_backend" not in str(plan(admin, make_role("reaper"), [], [Tier.REAP]))


def test_a_role_may_end_sessions_of_its_own(database: Database, app: str) -> None:
    one = transaction_of(database, opened(database, "worker", "SELECT FROM t", user=app))
    assert end_session.end(ours(database, app), one.pid, one.started, "a test").fate is Fate.ENDED


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
