"""`pgq-ops reap` as a person runs it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from pgq_ops.cli.reap_lines import lines, question
from pgq_ops.cli.reap_report import Report, reap_tables
from pgq_ops.errors import ActionFailed, DatabaseUnreachable
from tests.support.binding import loaded_of
from tests.support.jobs import FIELD, create_field_table, statuses

if TYPE_CHECKING:
    from pgq_ops.tasks.reap_result import ReapResult
    from tests.support.database import Database

STRANDED = """
INSERT INTO jobs (status, lease_until, attempts)
SELECT 'running', now() - interval '1 minute', n %% 7 FROM generate_series(1, %(n)s) AS n
"""
TERMINATE = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name = 'pgq-ops/command'"


def results(report: Report) -> list[ReapResult]:
    return [one.result for one in report.tables if one.result is not None]


def test_a_dry_run_says_what_the_pass_then_does_and_changes_nothing(database: Database) -> None:
    create_field_table(database)
    database.execute(STRANDED, {"n": 70})
    loaded = loaded_of(FIELD, database.dsn)
    plan = reap_tables(loaded, (), include_stale=False, dry_run=True)
    [planned] = results(plan)
    assert statuses(database) == {"running": 70}
    assert (planned.requeued, planned.dead_lettered) == (50, 20)
    assert list(lines(plan)) == ["jobs: 50 would be requeued, 20 would be buried"]
    assert question(plan) == "Take back the expired leases of jobs (50 to requeue, 20 to bury)?"
    [result] = results(reap_tables(loaded, (), include_stale=False, dry_run=False))
    assert (result.requeued, result.dead_lettered) == (50, 20)
    assert {**result.as_json(), "dry_run": True, "remaining": 70} == planned.as_json()


def test_a_pass_that_is_cut_off_says_what_was_done(database: Database) -> None:
    create_field_table(database)
    database.execute(STRANDED, {"n": 5000})
    database.execute("""
        CREATE FUNCTION slowly() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF new.id > 1000 THEN PERFORM pg_sleep(0.05); END IF; RETURN new; END $$
    """)
    database.execute("CREATE TRIGGER slowly BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION slowly()")
    with ThreadPoolExecutor(1) as pool:
        reaping = pool.submit(reap_tables, loaded_of(FIELD, database.dsn), (), include_stale=False, dry_run=False)
        while database.value("SELECT count(*) FROM jobs WHERE status <> 'running'") < 1000:
            assert not reaping.done()
        database.value(TERMINATE)
        report = reaping.result()
    failure = report.failure()
    assert isinstance(failure, ActionFailed)
    assert "stopped part way" in str(failure)
    assert report.changed == 1000
    assert " were requeued" in next(lines(report))
    done = database.value("SELECT count(*) FROM jobs WHERE status <> 'running'")
    assert done == 1000


def test_without_anything_done_the_loss_itself_is_told(database: Database) -> None:
    create_field_table(database)
    database.execute(
        "CREATE FUNCTION die() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); RETURN new; END'"
    )
    database.execute("CREATE TRIGGER die BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION die()")
    database.execute(STRANDED, {"n": 5})
    with pytest.raises(DatabaseUnreachable):
        reap_tables(loaded_of(FIELD, database.dsn), (), include_stale=False, dry_run=False)
