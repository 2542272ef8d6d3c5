"""One table under two names in the config, and under a new one: each name's findings are its own."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.support.findings import Flight, finding, flight_over

if TYPE_CHECKING:
    from pgq_ops.job_table.table import JobTable
    from tests.support.database import Database

ROWS = "job_table, finding, closed_at IS NULL"


@pytest.fixture
def flight(database: Database, monkeypatch: pytest.MonkeyPatch) -> Flight:
    return flight_over(database, monkeypatch)


def test_two_names_neither_close_nor_rename_each_other_s_findings(flight: Flight) -> None:
    jobs, mails = flight.table, replace(flight.table, name="mails")
    both = {"jobs", "mails"}
    for _ in range(15):
        flight.now[0] += 10
        flight.recorder.note(jobs, [finding("a"), finding("b", pid=1)])
        flight.recorder.note(mails, [finding("b", pid=2)])
        flight.recorder.write(flight.connection, both)
    assert sorted(flight.rows(ROWS)) == [("jobs", "a", True), ("jobs", "b", True), ("mails", "b", True)]
    assert sorted(flight.rows("evidence ->> 'pid', returns")[1:]) == [("1", 0), ("2", 0)]
    assert len(flight.said()) == 3
    flight.now[0] += 10
    flight.recorder.note(mails, [])
    flight.recorder.write(flight.connection, both)
    assert sorted(flight.rows(ROWS)) == [("jobs", "a", True), ("jobs", "b", True), ("mails", "b", False)]


def test_when_somebody_looked_is_known_for_each_name(flight: Flight) -> None:
    def looked(table: JobTable) -> None:
        flight.recorder.note(table, [])
        flight.recorder.write(flight.connection, {table.name})

    looked(flight.table)
    flight.now[0] += 61
    looked(replace(flight.table, name="mails"))
    assert flight.database.rows("SELECT job_table FROM pgq_ops.watch ORDER BY id") == [("jobs",), ("mails",)]


def test_what_is_open_under_a_name_that_is_gone_closes_when_it_was_seen_last(flight: Flight) -> None:
    flight.look(finding("a"))
    flight.table = replace(flight.table, name="renamed")
    flight.look(finding("a"))
    assert flight.rows(ROWS) == [("jobs", "a", True), ("renamed", "a", True)], "both names may be in use"
    flight.database.execute(
        "UPDATE pgq_ops.finding SET opened_at = now() - interval '1 h', last_seen_at = now() - interval '181 s'"
        " WHERE job_table = 'jobs'"
    )
    flight.look(finding("a"), after=60)
    rows = flight.rows(f"{ROWS}, closed_at = last_seen_at")
    assert rows == [("jobs", "a", False, True), ("renamed", "a", True, None)]
