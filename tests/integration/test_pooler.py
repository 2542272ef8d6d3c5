"""A real PgBouncer between the agent's sessions and the server."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
import pytest
from pydantic import SecretStr

from pgq_ops.cli.setting import session as command_session
from pgq_ops.config.load import LoadedConfig
from pgq_ops.config.model import Config
from pgq_ops.config.model import Database as DatabaseConfig
from pgq_ops.db.connection import WRITE_LIMITS, Purpose
from pgq_ops.db.session import Session
from pgq_ops.leader.leadership import Leadership
from pgq_ops.leader.pooler import SharedServerProcess, refuse_shared_process
from pgq_ops.leader.settle import Settle
from tests.support.pgbouncer import needs_pgbouncer, pooled

if TYPE_CHECKING:
    from tests.support.database import Database


def session(dsn: str, direct_dsn: str | None = None) -> Session:
    direct = None if direct_dsn is None else SecretStr(direct_dsn)
    config = DatabaseConfig(dsn=SecretStr(dsn), direct_dsn=direct)
    return Session(config, Purpose.LEADER, WRITE_LIMITS, direct=True, check=refuse_shared_process)


@needs_pgbouncer
@pytest.mark.case("A2")
@pytest.mark.parametrize("round_robin", ["0", "1"])
def test_a_transaction_pooler_is_refused_before_anything_is_set_on_its_servers(
    database: Database, round_robin: str
) -> None:
    settings = {"server_round_robin": round_robin, "min_pool_size": "3"}
    with pooled(database.dsn, "transaction", **settings) as dsn:
        leadership = Leadership(session(dsn), "manage", Settle())
        with pytest.raises(SharedServerProcess, match=r"database\.direct_dsn"):
            leadership.prove()
        assert not leadership.led()
        with psycopg.connect(dsn, autocommit=True) as worker:
            seen = {worker.execute("SHOW statement_timeout").fetchone() for _ in range(10)}
        assert seen == {("0",)}
        own = "database = (SELECT oid FROM pg_database WHERE datname = current_database())"
        assert not database.rows(f"SELECT FROM pg_locks WHERE locktype = 'advisory' AND {own}")


@needs_pgbouncer
@pytest.mark.case("A2")
def test_direct_dsn_leads_past_the_pooler(database: Database) -> None:
    with pooled(database.dsn, "transaction") as dsn:
        past = session(dsn, direct_dsn=database.dsn)
        leadership = Leadership(past, "manage", Settle())
        leadership.prove()
        assert leadership.take({"emails": 4711}) == {"emails"}
        past.close()


@needs_pgbouncer
@pytest.mark.case("A2")
def test_a_pooler_of_sessions_is_good_enough(database: Database) -> None:
    with pooled(database.dsn, "session") as dsn:
        through = session(dsn)
        leadership = Leadership(through, "manage", Settle())
        assert leadership.prove().info.backend_pid not in [
            pid for (pid,) in database.rows("SELECT pid FROM pg_stat_activity")
        ], "the pooler must give pids of its own, or this proves nothing"
        assert leadership.take({"emails": 4711}) == {"emails"}
        leadership.prove()
        assert leadership.holds("emails")
        through.close()


def test_a_direct_connection_is_recognised_without_a_second_one(database: Database) -> None:
    with database.connect(application_name="direct") as connection:
        refuse_shared_process(connection)
        assert connection.info.backend_pid == connection.execute("SELECT pg_backend_pid()").fetchone()[0]  # type: ignore[index]


@needs_pgbouncer
@pytest.mark.case("A2")
def test_a_command_that_only_reads_is_refused_too_before_it_makes_the_workers_read_only(database: Database) -> None:
    with pooled(database.dsn, "transaction") as dsn:
        config = Config(database=DatabaseConfig(dsn=SecretStr(dsn)))
        with pytest.raises(SharedServerProcess), command_session(LoadedConfig(config, None, {}, ()), "read the jobs"):
            pass
        with psycopg.connect(dsn, autocommit=True) as worker:
            assert worker.execute("SHOW default_transaction_read_only").fetchone() == ("off",)
        past = Config(database=DatabaseConfig(dsn=SecretStr(dsn), direct_dsn=SecretStr(database.dsn)))
        with command_session(LoadedConfig(past, None, {}, ()), "read the jobs") as connection:
            assert connection.execute("SHOW default_transaction_read_only").fetchone() == ("on",)
