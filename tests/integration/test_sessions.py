"""Sessions on servers and for roles whose settings would stop others."""

from __future__ import annotations

import os
import subprocess
import sys
from typing import TYPE_CHECKING

import psycopg
from pydantic import SecretStr

from pgq_ops.config.model import Database as DatabaseConfig
from pgq_ops.db.connection import WRITE_LIMITS, Purpose, connect
from pgq_ops.demo.binaries import find_binaries
from pgq_ops.demo.server import EmbeddedServer

if TYPE_CHECKING:
    from tests.support.database import Database


def test_a_synchronous_standby_that_is_away_makes_no_commit_of_ours_wait() -> None:
    """Such a wait is over no timeout's end: only the setting keeps a session out of it."""
    with EmbeddedServer({"fsync": "off", "synchronous_standby_names": "nobody"}, find_binaries()) as server:
        command = [sys.executable, "-m", "pgq_ops", "install", "--yes"]
        environment = os.environ | {"PGQ_OPS_DSN": server.dsn()}
        installed = subprocess.run(command, env=environment, timeout=20, check=False, capture_output=True, text=True)
        assert installed.returncode == 0, installed.stderr
        with psycopg.connect(server.dsn()) as other:
            assert other.execute("SELECT count(*) > 0 FROM pg_class WHERE relname = 'reap_log'").fetchone() == (True,)


def test_a_role_whose_statements_may_take_milliseconds_gets_the_time_that_ours_need(database: Database) -> None:
    database.execute(f"ALTER DATABASE {database.name} SET statement_timeout = '3ms'")
    database.execute(f"ALTER DATABASE {database.name} SET exit_on_error = on")
    config = DatabaseConfig(dsn=SecretStr(database.dsn))
    for _ in range(20):
        with connect(config, Purpose.COMMAND, WRITE_LIMITS) as connection:
            connection.execute("SELECT pg_sleep(0.005)")
