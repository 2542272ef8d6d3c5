"""Ending: in order, in time, whatever the database does."""

from __future__ import annotations

import signal
import socket
import time
from typing import TYPE_CHECKING

import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.support.agent import wait_until
from tests.support.gate import Gate

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
    assert time.monotonic() - began < 2


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
