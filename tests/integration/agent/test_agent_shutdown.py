"""Ending: in order, in time, whatever the database does."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.support.agent import wait_until
from tests.support.gate import Gate
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.agent import Agent
    from tests.support.database import Database

    Start = Callable[..., Agent]

LOCKS = (
    "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory'"
    " AND database = (SELECT oid FROM pg_database WHERE datname = current_database())"
)
SLEEPING = "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%%pg_sleep(20)%%' AND pid <> pg_backend_pid()"


@pytest.mark.case("A6")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_in_a_long_statement_cancels_it_releases_leadership_and_ends_with_zero(
    jobs: Database, start: Start, number: signal.Signals
) -> None:
    agent = start(jobs.dsn, tasks="sleeps")
    wait_until(lambda: jobs.value(SLEEPING, {}) == 1, what="the statement of 20 s runs")
    assert jobs.value(LOCKS) == 1
    began = time.monotonic()
    agent.signal(number)
    assert agent.ended(10) == 0
    assert time.monotonic() - began < 5
    wait_until(lambda: jobs.value(LOCKS) == 0, 1)
    assert jobs.value(SLEEPING, {}) == 0
    assert agent.told("agent.stopped", 1)["clean"] is True
    assert not agent.events("task.failed")


def test_an_idle_agent_ends_at_once(jobs: Database, start: Start) -> None:
    agent = start(jobs.dsn)
    wait_until(agent.leads)
    began = time.monotonic()
    agent.signal(signal.SIGTERM)
    assert agent.ended(10) == 0
    assert time.monotonic() - began < 5


@pytest.mark.case("A6")
def test_an_agent_whose_database_answers_nothing_any_more_ends_within_ten_seconds(jobs: Database, start: Start) -> None:
    server = conninfo_to_dict(jobs.dsn)
    with Gate((str(server["host"]), int(server["port"] or 5432))) as gate:
        agent = start(make_conninfo(jobs.dsn, host="127.0.0.1", port=gate.port))
        wait_until(agent.leads)
        gate.shut()
        time.sleep(3)  # long enough for the next tick to be waiting for an answer that never comes
        began = time.monotonic()
        agent.signal(signal.SIGTERM)
        assert agent.ended(12) == 0
        took = time.monotonic() - began
    assert took < 10
    assert agent.told("agent.stopped", 1)


def test_a_second_signal_ends_it_at_once(jobs: Database, start: Start) -> None:
    server = conninfo_to_dict(jobs.dsn)
    with Gate((str(server["host"]), int(server["port"] or 5432))) as gate:
        agent = start(make_conninfo(jobs.dsn, host="127.0.0.1", port=gate.port))
        wait_until(agent.leads)
        gate.shut()
        time.sleep(2.5)
        agent.signal(signal.SIGTERM)
        time.sleep(0.5)  # the first one must have been heeded
        assert agent.alive.poll() is None
        agent.signal(signal.SIGTERM)
        assert agent.ended(1) == 128 + signal.SIGTERM


def test_a_port_that_is_taken_is_one_message_and_no_session(jobs: Database, start: Start) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        agent = start(jobs.dsn, port=port)
        assert agent.ended(10) == 2
    assert "Traceback" not in agent.log.read_text()
    assert str(port) in agent.log.read_text()
    assert len(agent.log.read_text().splitlines()) == 1
    assert jobs.value("SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'pgq-ops/%%'", {}) == 0


def test_stderr_that_nobody_reads_keeps_it_neither_from_reaping_nor_from_ending(database: Database) -> None:
    """More log lines than a pipe holds: a line for each of the rows that a constraint refuses."""
    create_field_table(database)
    database.execute("ALTER TABLE jobs ADD CHECK (id > 600 OR status <> 'pending')")
    database.execute(
        "INSERT INTO jobs (id, status, lease_until, attempts)"
        " SELECT n, 'running', now() - interval '1 minute', 0 FROM generate_series(1, 610) AS n"
    )
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pgq-ops.toml"
        toml = FIELD.replace("[job_tables.jobs.reaper]", '[job_tables.jobs.reaper]\nevery = "100ms"\nsettle = "0s"')
        path.write_text('[agent]\nmode = "manage"\nlisten = "127.0.0.1:0"\n' + toml, encoding="utf-8")
        command = [sys.executable, "-m", "pgq_ops", "agent", "--config", str(path)]
        environment = {**os.environ, "PGQ_OPS_DSN": database.dsn}
        with subprocess.Popen(command, stderr=subprocess.PIPE, env=environment) as process:
            wait_until(
                lambda: database.value("SELECT count(*) = 10 FROM jobs WHERE status = 'pending'"),
                seconds=90,
                what="the others are reaped",
            )
            process.send_signal(signal.SIGTERM)
            assert process.wait(10) == 0
            assert process.stderr is not None
            assert len(process.stderr.read()) > 60_000
