"""`why` with the rights that a role has, on tables that are locked or slow to search, and never writing."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from pgq_ops.cli import why_look
from pgq_ops.errors import DatabaseFailed, NotPermitted
from pgq_ops.schema.grants import apply, plan
from pgq_ops.schema.tier import Tier
from pgq_ops.schema.versions import install
from pgq_ops.stats import job_life
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, SMALL, create_field_table
from tests.support.why import as_json, as_text, asked, told

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles

RUNNING = "INSERT INTO jobs (status, lease_until, locked_by) VALUES ('running', now() - interval '1 m', 'w1')"


@pytest.mark.case("V8")
def test_with_the_rights_to_observe_all_is_told_and_what_may_not_be_seen_is_said(
    database: Database, make_role: Roles
) -> None:
    create_field_table(database)
    install(database.connect())
    database.execute(RUNNING)
    role = make_role("watcher")
    admin = database.connect()
    assert apply(admin, plan(admin, role, [bind_toml(database, FIELD).table], [Tier.OBSERVE])).error is None
    database.execute(f"REVOKE pg_monitor FROM {role}; REVOKE SELECT (xmax, tableoid) ON jobs FROM {role}")
    holder = database.connect(autocommit=False, application_name="worker 7")
    holder.execute("SELECT FROM jobs FOR UPDATE")
    blind = told(database, 1, role=role)
    assert "Running by w1; lease expired 1m" in blind
    assert "In the last 30 days it was not reaped before." in blind
    assert "Whether somebody holds its row locked could not be seen by this role:" in blind
    [remedy] = [line.strip() for line in blind.splitlines() if line.strip().startswith("GRANT")]
    database.execute(remedy)
    seen = told(database, 1, role=role)
    assert f"Its row is locked by session {holder.info.backend_pid} (worker 7, user postgres)" in seen
    assert "GRANT" not in seen
    assert as_json(database, 1, role=role)["locked_by"]["seconds"] is None
    database.execute(f"GRANT pg_monitor TO {role}")
    assert "worker 7, user postgres, idle in transaction, its transaction open for" in told(database, 1, role=role)


def test_without_the_schema_or_the_right_to_read_it_the_history_is_said_to_be_unknown(
    database: Database, make_role: Roles
) -> None:
    create_field_table(database)
    database.execute(RUNNING)
    assert "before is not known: it is not recorded; this begins it: pgq-ops install" in told(database, 1)
    assert as_json(database, 1)["history"] is None
    install(database.connect())
    role = make_role("outsider")
    database.execute(f"GRANT SELECT ON jobs TO {role}")
    text = told(database, 1, role=role)
    assert f"What became of it before is not known: role {role} may not read the reap log" in text
    for line in [line for line in text.splitlines() if line.startswith("  GRANT")]:
        database.execute(line)
    assert "In the last 30 days it was not reaped before." in told(database, 1, role=role)


def test_without_the_right_to_read_the_table_the_grant_is_named(database: Database, make_role: Roles) -> None:
    create_field_table(database)
    failure = asked(database, 1, role=make_role("nobody")).failure()
    assert isinstance(failure, NotPermitted)
    assert "GRANT SELECT" in failure.remedy


@pytest.mark.case("R15")
def test_rows_that_a_policy_hides_are_an_error_and_not_a_job_that_is_not_there(
    database: Database, make_role: Roles
) -> None:
    create_field_table(database)
    database.execute(RUNNING)
    role = make_role("reader")
    database.execute(f"GRANT SELECT ON jobs TO {role}; ALTER TABLE jobs ENABLE ROW LEVEL SECURITY")
    assert isinstance(asked(database, 1, role=role).failure(), NotPermitted)
    database.execute("CREATE POLICY everything ON jobs USING (true)")
    assert "Running by w1" in told(database, 1, role=role)


@pytest.mark.case("M1")
def test_a_locked_table_is_said_to_be_locked_at_once(database: Database) -> None:
    create_field_table(database)
    database.execute(RUNNING)
    holder = database.connect(autocommit=False)
    holder.execute("LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
    began = time.monotonic()
    report = asked(database, 1)
    assert time.monotonic() - began < 3
    assert isinstance(report.failure(), DatabaseFailed)
    assert str(report.failure()).startswith("jobs: public.jobs is locked by somebody else just now")
    assert as_text(report) == ""
    holder.rollback()
    assert "Running by w1" in told(database, 1)


@pytest.mark.case("M1")
@pytest.mark.parametrize("locked", ["pgq_ops.reap_log", "pgq_ops.task"])
@pytest.mark.parametrize("counted", [True, False], ids=["attempts-mapped", "attempts-in-the-log"])
def test_a_lock_on_a_table_of_our_own_costs_only_what_stands_there(
    database: Database,
    locked: str,
    counted: bool,  # noqa: FBT001
) -> None:
    create_field_table(database)
    install(database.connect())
    database.execute(RUNNING)
    toml = (
        FIELD
        if counted
        else FIELD.replace('attempts = "attempts"\n', "", 1).replace('max_attempts = "max_attempts"\n', "", 1)
    )
    holder = database.connect(autocommit=False)
    holder.execute(f"LOCK TABLE {locked} IN ACCESS EXCLUSIVE MODE")
    text = told(database, 1, toml)
    assert "Running by w1; lease expired 1m" in text
    if locked == "pgq_ops.reap_log":
        assert "What became of it before is not known: the reap log is locked by somebody else just now" in text
        gone = asked(database, 2, toml)
        assert "whether one had is not known: the reap log is locked" in str(gone.failure())
    else:
        assert "Whether an agent reaps could not be read just now" in text
        assert "In the last 30 days it was not reaped before." in text


@pytest.mark.case("M1")
def test_a_locked_dead_letter_table_is_the_one_that_is_named_and_hides_no_job(database: Database) -> None:
    create_field_table(database)
    database.execute("CREATE TABLE dead_jobs (LIKE jobs INCLUDING ALL)")
    database.execute(RUNNING)
    toml = f'{SMALL}dead_letter_table = "dead_jobs"\n'
    holder = database.connect(autocommit=False)
    holder.execute("LOCK TABLE dead_jobs IN ACCESS EXCLUSIVE MODE")
    assert "Running by w1" in told(database, 1, toml)
    failure = str(asked(database, 2, toml).failure())
    assert failure.startswith("jobs: public.dead_jobs is locked by somebody else just now")


def test_an_id_that_no_index_leads_to_ends_in_time_with_the_index_to_create(database: Database) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ADD COLUMN shown bigint")
    database.execute("INSERT INTO jobs (shown, status) SELECT i, 'done' FROM generate_series(1, 200000) AS i")
    bound = bind_toml(database, FIELD.replace('id = "id"', 'id = "shown"', 1), read_only=True)
    [found] = job_life.read(bound.connection, bound.table, "199999", logged=False)
    assert (found.id, found.state) == ("199999", "done")
    bound.connection.execute("SET statement_timeout = 2")
    with pytest.raises(DatabaseFailed) as failed:
        job_life.read(bound.connection, bound.table, "199999", logged=False)
    [statement] = [line.strip() for line in str(failed.value).splitlines() if "CREATE INDEX" in line]
    database.execute(statement)
    plan = database.rows("EXPLAIN SELECT FROM jobs WHERE shown = ANY ('{199999}'::bigint[])")
    assert "jobs_shown_idx" in str(plan)


def test_what_only_adds_to_the_answer_is_given_up_where_it_takes_too_long(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ADD COLUMN shown bigint")
    database.execute("INSERT INTO jobs (shown, status) SELECT i, 'pending' FROM generate_series(1, 200000) AS i")
    monkeypatch.setattr(why_look, "_ASIDE_MS", 2)
    text = told(database, 199_999, FIELD.replace('id = "id"', 'id = "shown"', 1))
    assert "199999  ready" in text
    assert "Whether somebody holds its row locked could not be seen in time." in text
    assert "How many ready jobs are claimed before it could not be counted in time." in text


def test_nothing_is_written(database: Database) -> None:
    create_field_table(database)
    install(database.connect())
    database.execute(RUNNING)
    database.execute('ALTER DATABASE "' + database.name + '" SET default_transaction_read_only = on')
    before = database.rows("SELECT ctid, xmin, xmax, jobs FROM jobs")
    assert "Running by w1" in told(database, 1)
    assert database.rows("SELECT ctid, xmin, xmax, jobs FROM jobs") == before
