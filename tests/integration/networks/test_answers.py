"""A server, or somebody between, that acknowledges everything and answers nothing."""

from __future__ import annotations

import threading
import time
from contextlib import closing
from typing import TYPE_CHECKING, Any

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo
from pydantic import SecretStr

from pgq_ops.config.model import Database as DatabaseConfig
from pgq_ops.db import connection as opening
from pgq_ops.db.connection import LEADER_LIMITS, PROBE_LIMITS, Limits, Purpose, bound, connect
from pgq_ops.db.failures import driver_errors, is_connection_loss
from pgq_ops.db.session import Session
from pgq_ops.errors import DatabaseUnreachable
from pgq_ops.leader import leadership as leading
from pgq_ops.leader.leadership import Leadership
from pgq_ops.leader.settle import Settle
from tests.support.gate import Gate

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.database import Database

QUICK = Limits(statement_ms=500)


@pytest.fixture
def gate(database: Database) -> Iterator[Gate]:
    """A way to the test's server that can be shut."""
    server = conninfo_to_dict(database.dsn)
    with Gate((str(server["host"]), int(server["port"] or 5432))) as gate:
        yield gate


@pytest.fixture
def through(database: Database, gate: Gate) -> DatabaseConfig:
    """The test's database, by that way."""
    return DatabaseConfig(dsn=SecretStr(make_conninfo(database.dsn, host="127.0.0.1", port=gate.port)))


@pytest.fixture
def short_grace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a second instead of ten, on top of what the statement may take."""
    monkeypatch.setattr(opening, "GRACE_SECONDS", 0.5)


@pytest.mark.usefixtures("short_grace")
def test_a_statement_whose_answer_does_not_come_ends_as_a_lost_connection(through: DatabaseConfig, gate: Gate) -> None:
    with closing(connect(through, Purpose.PROBES, QUICK)) as connection:
        gate.shut()
        began = time.monotonic()
        with pytest.raises(psycopg.OperationalError, match="did not answer within") as raised:
            connection.execute("SELECT 1")
        assert 1 <= time.monotonic() - began < 3
        assert is_connection_loss(raised.value)
        assert connection.broken


@pytest.mark.usefixtures("short_grace")
def test_a_statement_that_takes_all_of_its_time_is_waited_for_and_the_server_ends_it(through: DatabaseConfig) -> None:
    with connect(through, Purpose.PROBES, Limits(statement_ms=800)) as connection:
        connection.execute("SELECT pg_sleep(0.7)")
        with pytest.raises(psycopg.errors.QueryCanceled):
            connection.execute("SELECT pg_sleep(9)")
        bound(connection, Limits(statement_ms=2_000))
        connection.execute("SELECT pg_sleep(1.6)")


@pytest.mark.usefixtures("short_grace")
def test_a_result_that_keeps_coming_is_no_silence(through: DatabaseConfig) -> None:
    """Rows for longer than the patience lasts, each a part of a second after the last."""
    with connect(through, Purpose.PROBES, Limits(statement_ms=10_000)) as connection, connection.expecting(0.7):
        rows = connection.execute("SELECT repeat('x', 9000), pg_sleep(0.2) FROM generate_series(1, 10)").fetchall()
    assert len(rows) == 10


def test_a_leader_whose_look_is_not_answered_leads_nothing_though_its_statements_may_take_longer(
    through: DatabaseConfig, gate: Gate, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(leading, "LOOK_SECONDS", 1.0)
    session = Session(through, Purpose.LEADER, LEADER_LIMITS)
    leader = Leadership(session, "manage", Settle())
    leader.prove()
    assert leader.take({"jobs": 4711}) == {"jobs"}
    gate.shut()
    began = time.monotonic()
    with pytest.raises(DatabaseUnreachable, match="did not answer within 1 s"):
        leader.prove()
    assert time.monotonic() - began < 3
    assert not leader.holds("jobs")
    gate.open()
    assert leader.prove()
    session.close()


def test_a_leader_that_asked_nothing_for_as_long_as_the_server_bears_leads_nothing_before_it_asks(
    database: Database,
) -> None:
    config = DatabaseConfig(dsn=SecretStr(database.dsn))
    session = Session(config, Purpose.LEADER, Limits(statement_ms=5_000, idle_ms=1_000))
    leader = Leadership(session, "manage", Settle())
    leader.prove()
    leader.take({"jobs": 4711})
    time.sleep(0.5)
    assert leader.holds("jobs")
    statement = threading.Thread(target=leader.prove().execute, args=("SELECT pg_sleep(1.6)",))
    statement.start()
    time.sleep(1.3)
    assert leader.holds("jobs"), "who waits for an answer is not idle"
    statement.join()
    assert leader.holds("jobs")
    time.sleep(1.1)
    assert leader.led() == frozenset()
    assert leader.connection() is None
    locks = (
        "SELECT count(*) FROM pg_locks l JOIN pg_database d ON d.oid = l.database WHERE datname = current_database()"
    )
    assert database.value(f"{locks} AND locktype = 'advisory'") == 0, "the server sees it the same way"
    with pytest.raises(DatabaseUnreachable, match="idle-session timeout"):
        leader.prove()
    leader.prove()
    assert leader.take({"jobs": 4711}) == {"jobs"}
    session.close()


def test_a_leader_that_was_stopped_within_a_transaction_has_lost_its_connection(database: Database) -> None:
    config = DatabaseConfig(dsn=SecretStr(database.dsn))
    with closing(connect(config, Purpose.LEADER, Limits(statement_ms=5_000, idle_ms=300))) as connection:
        connection.execute("BEGIN")
        time.sleep(0.6)
        with pytest.raises(DatabaseUnreachable, match="idle-in-transaction"), driver_errors("reap"):
            connection.execute("SELECT 1")
        assert connection.broken


def test_only_leaders_are_ended_for_being_idle(database: Database) -> None:
    def shown(limits: Limits) -> list[Any]:
        with connect(DatabaseConfig(dsn=SecretStr(database.dsn)), Purpose.COMMAND, limits) as connection:
            names = ("idle_session_timeout", "idle_in_transaction_session_timeout", "client_connection_check_interval")
            return [connection.execute(f"SHOW {name}").fetchall()[0][0] for name in names]

    database.execute(f"ALTER DATABASE {database.name} SET idle_session_timeout = '1s'")
    database.execute(f"ALTER DATABASE {database.name} SET client_connection_check_interval = '7s'")
    assert shown(LEADER_LIMITS) == ["15s", "15s", "2s"]
    assert shown(PROBE_LIMITS) == ["0", "30s", "0"]
