"""Sessions under track_activities = off, of which nobody knows whether they have a transaction open."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks.production import no_idle_transaction
from pgq_ops.cli.inspection import vital_document
from pgq_ops.cli.transactions_lines import lines
from pgq_ops.cli.transactions_report import look
from tests.support.agent import wait_until
from tests.support.collecting import collection_of
from tests.support.doctor_points import doctor
from tests.support.inspection import loaded
from tests.support.jobs import FIELD
from tests.support.sessions import is_there, opened, pid, seen

if TYPE_CHECKING:
    from pathlib import Path

    import psycopg

    from tests.support.database import Database

SESSIONS = ("long_transactions", "idle_in_transaction_sessions", "longest_transaction_seconds")


@pytest.fixture
def hidden(jobs: Database) -> psycopg.Connection[object]:
    """A session that has written to the jobs, and does not tell what it does."""
    session = opened(jobs, "hidden", "SET track_activities = off", "LOCK TABLE jobs IN ROW EXCLUSIVE MODE")
    session.execute("UPDATE t SET n = 1 WHERE id = 1")
    told = "SELECT state, xact_start, backend_xid IS NOT NULL FROM pg_stat_activity WHERE pid = %s"
    assert jobs.rows(told, [pid(session)]) == [("disabled", None, True)]
    return session


def gone(database: Database, session: psycopg.Connection[object]) -> None:
    number = pid(session)
    session.close()
    wait_until(lambda: not is_there(database, number), what="the session is gone")


def test_what_they_hide_is_absent_and_told_not_0(jobs: Database, hidden: psycopg.Connection[object]) -> None:
    opened(jobs, "known", "SELECT 1")
    found = seen(jobs)
    assert (found.hidden, found.visible) == (1, True)
    assert [one.application_name for one in found.sessions] == ["known"]
    collection = collection_of(jobs).healthy()
    assert [collection.values(name) for name in SESSIONS] == [{}, {}, {}]
    assert collection.values("blocked_sessions") == {(): 0}, "who waits for a lock is known all the same"
    assert collection.value("session_visibility") == 0
    assert collection.value("horizon_holders", "backend") == 1
    finding = collection.finding("visibility-limited")
    assert finding.summary.startswith("1 session of this database under track_activities = off")
    assert finding.evidence["hidden_sessions"] == 1
    document = vital_document.sessions(collection.last.look.database) if collection.last else None
    assert document is not None
    assert (document["long"], document["longest_seconds"], document["hidden"], document["blocked"]) == (
        None,
        None,
        1,
        0,
    )
    gone(jobs, hidden)
    collection.healthy()
    assert collection.value("session_visibility") == collection.value("idle_in_transaction_sessions") == 1
    assert "visibility-limited" not in collection.finding_ids()


@pytest.mark.usefixtures("hidden")
def test_the_list_says_how_many_they_are(jobs: Database, tmp_path: Path) -> None:
    report = look(loaded(tmp_path, FIELD, jobs.dsn))
    assert report.as_json(queries=False)["hidden_sessions"] == 1
    first, *_, last = [line.plain for line in lines(report, None, queries=False)]
    assert first.startswith("1 session does not tell what it is at (track_activities is off)")
    assert last == f"no other transaction of a client is known to be open in {jobs.name}"


def test_doctor_does_not_know_whether_they_are_idle(jobs: Database, hidden: psycopg.Connection[object]) -> None:
    assert "under track_activities = off" in doctor(jobs).unknown(no_idle_transaction)
    gone(jobs, hidden)
    assert doctor(jobs).passed(no_idle_transaction)


def test_a_hidden_session_of_another_database_hides_nothing_here(jobs: Database) -> None:
    opened(jobs, "elsewhere", "SET track_activities = off", "SELECT 1", dbname="postgres")
    assert seen(jobs).hidden == 0
    assert collection_of(jobs).healthy().value("session_visibility") == 1
