"""What came and went while nothing could be written: it is written later, with its true times."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import psycopg
import pytest

from pgq_ops.agent.noted_look import MOST_OVER
from pgq_ops.schema import versions
from tests.support.findings import Flight, finding, flight_over

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.database import Database

TIMES = "finding, round(extract(epoch FROM now() - opened_at)), round(extract(epoch FROM now() - closed_at)), returns"


@pytest.fixture
def flight(database: Database, monkeypatch: pytest.MonkeyPatch) -> Flight:
    return flight_over(database, monkeypatch)


@pytest.fixture
def locked(flight: Flight) -> Iterator[psycopg.Connection]:
    """Somebody who holds the table locked until the transaction ends. The agent's session waits for no lock."""
    flight.look()
    flight.connection.execute("SET lock_timeout = '50ms'")
    somebody = psycopg.connect(flight.database.dsn)
    somebody.execute("LOCK TABLE pgq_ops.finding")
    yield somebody
    somebody.close()


def test_what_opened_and_closed_while_the_table_was_locked_is_written_with_its_times(
    flight: Flight, locked: psycopg.Connection
) -> None:
    flight.look(finding("a", pid=1), finding("b"))
    flight.look(finding("b"), after=20)
    flight.look(finding("b"), after=10)
    locked.rollback()
    flight.look(finding("b"), after=10)
    assert flight.rows(TIMES) == [("a", 40, 20, 0), ("b", 40, None, 0)]
    assert flight.rows("evidence")[0] == ({"pid": 1},)


def test_what_came_and_went_again_is_one_finding_as_if_it_had_been_written_at_once(
    flight: Flight, locked: psycopg.Connection
) -> None:
    for _ in range(3):
        flight.look(finding("a"), after=10)
        flight.look(after=10)
    locked.rollback()
    flight.look(after=5)
    assert flight.rows(TIMES) == [("a", 55, 5, 2)]
    flight.look(after=5)
    assert flight.rows(TIMES) == [("a", 55, 5, 2)], "and that is written once"


def test_what_was_open_before_closes_when_it_was_gone(flight: Flight) -> None:
    flight.look(finding("a"))
    flight.connection.close()
    flight.look(after=10)
    flight.look(finding("b"), after=10)
    flight.look(after=10)
    flight.connection = flight.database.connect()
    flight.look(after=20)
    assert flight.rows("finding, round(extract(epoch FROM now() - closed_at))") == [("a", 0), ("b", 20)]
    assert flight.said() == ["a: {}", "b: {}"] or flight.said() == ["b: {}", "a: {}"]


def test_what_is_remembered_is_bounded_and_the_latest(flight: Flight, locked: psycopg.Connection) -> None:
    for number in range(MOST_OVER + 10):
        flight.look(finding(f"f{number:03}"), after=0.1)
    locked.rollback()
    flight.look(after=0.1)
    names = [name for (name,) in flight.rows("finding")]
    assert (len(names), names[0], names[-1]) == (MOST_OVER, "f010", f"f{MOST_OVER + 9}")


def test_on_an_older_schema_it_is_said_once_that_findings_are_not_recorded(
    database: Database, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    flight = flight_over(database, monkeypatch, installed=False)
    monkeypatch.setattr("pgq_ops.scheduler.own_schema.time.monotonic", lambda: flight.now[0])
    every = versions.versions()
    with caplog.at_level(logging.WARNING):
        flight.look(finding())
        assert caplog.records == [], "a schema that is not installed is no mistake"
        monkeypatch.setattr(versions, "versions", lambda: every[:2])
        versions.install(database.connect())
        for _ in range(3):
            flight.look(finding(), after=21)
    assert [record.msg for record in caplog.records] == ["journal.not_written"]
    told = str(vars(caplog.records[0]))
    assert "findings" in told
    assert "version 2" in told
    assert "pgq-ops install" in told
