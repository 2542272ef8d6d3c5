"""What the agent writes down of its tasks' runs, and what it leaves alone."""

from __future__ import annotations

import logging
from datetime import timedelta
from typing import TYPE_CHECKING, Any

import pytest

from pgq_ops.scheduler.journal import Journal
from pgq_ops.schema import versions
from pgq_ops.schema.history import TaskRun
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from tests.support.database import Database

LAST = "SELECT outcome, message, duration_seconds, xmin::text FROM pgq_ops.task WHERE job_table = 'jobs'"


def run(outcome: str, message: str = "") -> TaskRun:
    return TaskRun("reaper", outcome, timedelta(seconds=0.5), message)


@pytest.fixture
def bound(database: Database) -> Any:
    create_field_table(database)
    return bind_toml(database, FIELD)


def test_a_run_replaces_the_one_before(database: Database, bound: Any) -> None:
    versions.install(database.connect())
    journal = Journal()
    journal.note(bound.connection, bound.table, run("ok"))
    journal.note(bound.connection, bound.table, run("failed", "why"))
    [(outcome, message, _, _)] = database.rows(LAST)
    assert (outcome, message) == ("failed", "why")


def test_runs_with_nothing_to_do_are_written_once_a_minute(
    database: Database, bound: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions.install(database.connect())
    now = [1000.0]
    monkeypatch.setattr("pgq_ops.scheduler.journal.time.monotonic", lambda: now[0])
    journal = Journal()

    def written() -> bool:
        before = database.rows(LAST)
        journal.note(bound.connection, bound.table, run("nothing"))
        return database.rows(LAST) != before

    assert written()
    assert not written()
    now[0] += 59
    assert not written()
    now[0] += 1
    assert written()
    journal.note(bound.connection, bound.table, run("ok"))
    assert written(), "after a run that did something the next idle one is news"


def test_without_the_schema_nothing_is_written_and_nothing_fails_and_it_is_found_later(
    database: Database, bound: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1000.0]
    monkeypatch.setattr("pgq_ops.scheduler.journal.time.monotonic", lambda: now[0])
    journal = Journal()
    journal.note(bound.connection, bound.table, run("ok"))
    versions.install(database.connect())
    now[0] += 19
    journal.note(bound.connection, bound.table, run("ok"))
    assert not database.rows(LAST)
    now[0] += 1
    journal.note(bound.connection, bound.table, run("ok"))
    assert database.rows(LAST)


def test_after_a_reload_the_schema_is_looked_for_at_once(database: Database, bound: Any) -> None:
    journal = Journal()
    journal.note(bound.connection, bound.table, run("ok"))
    versions.install(database.connect())
    journal.look_again()
    journal.note(bound.connection, bound.table, run("ok"))
    assert database.rows(LAST)


def test_a_role_that_may_not_write_there_is_told_once(
    database: Database, bound: Any, make_role: Any, caplog: pytest.LogCaptureFixture
) -> None:
    versions.install(database.connect())
    role = make_role("agent")
    database.execute(
        f'GRANT USAGE ON SCHEMA pgq_ops TO "{role}"; GRANT SELECT ON ALL TABLES IN SCHEMA pgq_ops TO "{role}"'
    )
    connection = database.connect(user=role)
    journal = Journal()
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            journal.note(connection, bound.table, run("ok"))
    assert [record.msg for record in caplog.records] == ["journal.not_written"]
    assert connection.execute("SELECT 1").fetchone() == (1,), "the session is as good as before"
