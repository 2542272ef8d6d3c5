"""`inspect` where something keeps it from looking: the rest is shown, and what is missing is said."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks import blocked
from pgq_ops.cli.inspection.inspector import Inspector
from pgq_ops.cli.metrics_report import collect
from pgq_ops.errors import ConfigError, DatabaseUnreachable, NotPermitted, PgqOpsError, UsageError
from tests.support.agent import wait_until
from tests.support.collecting import PATIENT
from tests.support.inspection import as_json, as_text, loaded, looked
from tests.support.jobs import FIELD, create_field_table
from tests.support.pgbouncer import needs_pgbouncer, pooled

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from tests.support.database import Database
    from tests.support.roles import Roles

OTHER = FIELD.replace("job_tables.jobs", "job_tables.other").replace('table = "jobs"', 'table = "other"')
BOTH = FIELD + OTHER


@pytest.fixture
def two(database: Database) -> Database:
    create_field_table(database)
    database.execute("CREATE TABLE other (LIKE jobs INCLUDING ALL)")
    database.execute("INSERT INTO jobs (queue) VALUES ('mail')")
    database.execute("INSERT INTO other (queue) VALUES ('film'), ('film')")
    return database


@pytest.mark.case("M1")
def test_a_locked_table_says_so_and_the_others_are_shown(two: Database, tmp_path: Path) -> None:
    with two.connect(autocommit=False) as holder:
        holder.execute("LOCK TABLE jobs")
        seen = looked(tmp_path, BOTH, two.dsn)
        holder.rollback()
    jobs, other = as_json(seen)
    assert [jobs[key] for key in ("queues", "leases", "next_expiries")] == [None] * 3
    assert jobs["relation"]["xid_age"] >= 0
    assert "locked by another session" in jobs["not_read"]["jobs"]
    assert other["queues"][0]["ready"] == 2
    assert seen.failure() is None
    text = as_text(seen)
    assert "queues: not read: locked by another session just now" in text
    assert "not everything could be read" in text


@pytest.mark.case("M1")
def test_a_table_behind_a_queued_lock_says_so_too(two: Database, tmp_path: Path) -> None:
    changer = two.connect()
    with two.connect(autocommit=False) as reader:
        reader.execute("SELECT FROM jobs")
        changer.pgconn.send_query(b"ALTER TABLE jobs ADD COLUMN more int")
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = %s"
        while two.value(waiting, [changer.info.backend_pid]) == 0:
            pass
        seen = looked(tmp_path, BOTH, two.dsn)
        reader.rollback()
    assert as_json(seen)[0]["queues"] is None
    assert as_json(seen)[1]["queues"][0]["ready"] == 2


@pytest.mark.case("M1")
@pytest.mark.parametrize("checked", [False, True])
def test_who_locks_the_table_and_who_waits_is_told_though_nothing_of_it_can_be_read(
    two: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *, checked: bool
) -> None:
    monkeypatch.setattr(blocked, "LONGEST_SECONDS", 0.0)
    if checked:  # the constraint's expression is read only under a lock: then not even the mapping can be checked
        two.execute("ALTER TABLE jobs ADD CHECK (status <> 'odd')")
    changer = two.connect(application_name="migrate")
    with two.connect(autocommit=False, application_name="nightly") as reader:
        reader.execute("SELECT FROM jobs")
        changer.pgconn.send_query(b"ALTER TABLE jobs ADD COLUMN more int")
        waiting = "SELECT count(*) FROM pg_locks WHERE NOT granted AND pid = %s"
        wait_until(lambda: two.value(waiting, [changer.info.backend_pid]))
        seen = looked(tmp_path, FIELD, two.dsn)
        report = collect(loaded(tmp_path, FIELD, two.dsn), ())
        reader.rollback()
    [jobs] = as_json(seen)
    [finding] = [one for one in jobs["findings"] if one["id"] == "blocked-sessions"]
    assert "(migrate" in finding["summary"]
    assert "(nightly" in finding["summary"]
    assert finding["summary"] in as_text(seen, None)
    assert isinstance(seen.failure(), DatabaseUnreachable)
    labels = f'{{database="{two.name}",job_table="jobs"}}'
    assert f"pgqops_up{labels} 0.0" in report.text
    assert f"pgqops_blocked_sessions{labels} 1.0" in report.text
    assert (report.error is not None) is checked
    assert checked or report.absent


def test_nothing_that_can_be_read_is_a_failure_of_the_database(two: Database, tmp_path: Path) -> None:
    with two.connect(autocommit=False) as holder:
        holder.execute("LOCK TABLE jobs, other")
        failure = looked(tmp_path, BOTH, two.dsn).failure()
        holder.rollback()
    assert isinstance(failure, DatabaseUnreachable)
    assert failure.exit_code == 3
    assert "jobs: locked" in str(failure)


def test_a_table_that_does_not_fit_its_mapping_is_told_beside_the_others(two: Database, tmp_path: Path) -> None:
    two.execute("ALTER TABLE jobs RENAME COLUMN lease_until TO lease_til")
    seen = looked(tmp_path, BOTH, two.dsn)
    jobs, other = as_json(seen)
    assert (jobs["queues"], jobs["findings"]) == (None, None)
    assert "lease_until" in jobs["error"]
    assert other["queues"][0]["ready"] == 2
    assert isinstance(seen.failure(), ConfigError)
    assert "lease_til" in as_text(seen)


def test_a_right_that_is_missing_is_told_with_the_grant(two: Database, tmp_path: Path, make_role: Roles) -> None:
    reader = make_role("reader")
    two.execute(f'GRANT SELECT ON other TO "{reader}"')
    seen = looked(tmp_path, BOTH, two.dsn_as(reader))
    assert as_json(seen)[1]["queues"][0]["ready"] == 2
    assert isinstance(seen.failure(), NotPermitted)
    assert "GRANT SELECT" in as_text(seen)


@pytest.mark.case("R15")
def test_row_security_that_hides_rows_is_no_healthy_zero(two: Database, tmp_path: Path, make_role: Roles) -> None:
    reader = make_role("reader")
    two.execute(f'GRANT SELECT ON jobs TO "{reader}"; ALTER TABLE jobs ENABLE ROW LEVEL SECURITY')
    seen = looked(tmp_path, FIELD, two.dsn_as(reader))
    assert as_json(seen)[0]["queues"] is None
    assert isinstance(seen.failure(), NotPermitted)
    two.execute(f'CREATE POLICY everything ON jobs TO "{reader}" USING (true)')
    seen = looked(tmp_path, FIELD, two.dsn_as(reader))
    assert as_json(seen)[0]["queues"][0]["ready"] == 1
    assert seen.failure() is None


def test_an_unknown_name_is_refused_with_a_suggestion(two: Database, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"othr.*other"):
        looked(tmp_path, BOTH, two.dsn, "othr")


def test_a_lost_connection_is_an_error_once_and_the_next_look_works_again(two: Database, tmp_path: Path) -> None:
    with Inspector(loaded(tmp_path, BOTH, two.dsn), (), repeatedly=True, limits=PATIENT) as inspector:
        assert inspector.look().failure() is None
        two.server.execute(f'ALTER DATABASE "{two.name}" ALLOW_CONNECTIONS false')
        end = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'pgq-ops/command'"
        two.rows(f"{end} AND datname = current_database()")
        for _ in range(2):
            with pytest.raises(DatabaseUnreachable):
                inspector.look()
        two.server.execute(f'ALTER DATABASE "{two.name}" ALLOW_CONNECTIONS true')
        assert as_json(inspector.look())[1]["queues"][0]["ready"] == 2


def test_a_table_that_changes_while_it_is_watched_is_bound_anew(two: Database, tmp_path: Path) -> None:
    with Inspector(loaded(tmp_path, FIELD, two.dsn), (), repeatedly=True, limits=PATIENT) as inspector:
        assert inspector.look().failure() is None
        two.execute("ALTER TABLE jobs RENAME COLUMN run_at TO later")
        _until(inspector, lambda error: error is not None and "run_at" in str(error))
        two.execute("ALTER TABLE jobs RENAME COLUMN later TO run_at")
        _until(inspector, lambda error: error is None)


def _until(inspector: Inspector, condition: Callable[[PgqOpsError | None], bool]) -> None:
    deadline = time.monotonic() + 30
    while not condition(inspector.look().tables[0].error):
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.case("M2")
def test_rounds_that_follow_each_other_cost_one_percent(two: Database, tmp_path: Path) -> None:
    with Inspector(loaded(tmp_path, FIELD, two.dsn), (), repeatedly=True, limits=PATIENT) as inspector:
        began = time.monotonic()
        first = inspector.look()
        took = time.monotonic() - began
        two.execute("INSERT INTO jobs (queue) VALUES ('mail')")
        # No look took longer than the whole first round, and none shorter than a statement's way to the server.
        assert as_json(inspector.look())[0]["queues"] == as_json(first)[0]["queues"]
        deadline = began + 110 * took
        while as_json(inspector.look())[0]["queues"][0]["ready"] != 2:
            assert time.monotonic() < deadline
            time.sleep(0.01)


@needs_pgbouncer
@pytest.mark.case("A2")
def test_a_transaction_pooler_is_refused_since_our_settings_would_reach_the_workers(
    two: Database, tmp_path: Path
) -> None:
    with pooled(two.dsn, "transaction") as dsn:
        with pytest.raises(PgqOpsError, match="direct_dsn"):
            looked(tmp_path, FIELD, dsn)
        past = f'[database]\ndirect_dsn = "{two.dsn}"\n{FIELD}'
        assert as_json(looked(tmp_path, past, dsn))[0]["queues"][0]["ready"] == 1
