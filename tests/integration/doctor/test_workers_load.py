"""What the workers' load and the reaper's log say."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks.production import idempotency, throughput
from pgq_ops.schema import versions
from pgq_ops.stats import table_statements
from pgq_ops.stats.table_statements import Statement, TableStatements
from tests.support.doctor_points import doctor
from tests.support.jobs import create_field_table, reap

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles

FINISHED_INDEX = "CREATE INDEX ON jobs (finished_at)"


@pytest.fixture
def jobs(database: Database) -> Database:
    create_field_table(database)
    return database


@pytest.mark.parametrize(("finished", "found"), [(19_000, False), (21_000, True)])
def test_half_of_what_one_table_bears_is_told_by_the_jobs_that_finished_last(
    jobs: Database,
    finished: int,
    found: bool,  # noqa: FBT001
) -> None:
    jobs.execute(FINISHED_INDEX)
    jobs.execute(
        "INSERT INTO jobs (status, finished_at) SELECT 'done', now() - interval '5 s' FROM generate_series(1, %s)",
        [finished],
    )
    one = doctor(jobs)
    if found:
        finding = one.finding(throughput)
        assert finding.evidence["jobs_per_second"] == 1_050
        assert "message broker" in finding.remedy
    else:
        assert one.passed(throughput) == "950.0 jobs a second finished in the last seconds"


@pytest.mark.parametrize(
    ("seconds", "rows", "outcome"), [(50, 100_000, "unknown"), (100, 99_000, "passed"), (100, 101_000, "finding")]
)
def test_else_it_is_told_by_the_claims_that_were_counted(
    jobs: Database, seconds: float, rows: int, outcome: str
) -> None:
    claim = Statement("UPDATE jobs SET ... (SELECT ... FOR UPDATE SKIP LOCKED)", 200_000, rows, toplevel=True, role="w")
    one = doctor(jobs)
    one.examination._facts[table_statements.read] = TableStatements((claim,), seconds)
    assert one.verdict(throughput).outcome == outcome


def test_where_neither_is_known_the_load_is_not_called_fit(jobs: Database) -> None:
    text = doctor(jobs).unknown(throughput)
    assert "no index leads to the jobs that finished last" in text
    assert "pg_stat_statements" in text


def test_jobs_that_were_requeued_may_have_run_twice(jobs: Database) -> None:
    assert doctor(jobs).verdict(idempotency).remedy == "pgq-ops install"
    versions.install(jobs.connect())
    assert doctor(jobs).passed(idempotency) == "none was requeued in 24 h"
    jobs.execute("""
        INSERT INTO jobs (status, attempts, lease_until) SELECT 'running', a, now() - interval '1 m' FROM unnest(ARRAY[1, 2, 5]) AS a;
    """)
    assert reap(jobs).requeued == 2
    jobs.execute("INSERT INTO pgq_ops.reap_log (table_oid, job, outcome) VALUES (1, '9', 'requeued')")
    found = doctor(jobs).finding(idempotency)
    assert found.evidence == {"requeued": 2, "at_least": False}
    assert found.severity == "info"
    assert len(jobs.rows(found.remedy)) == 2
    jobs.execute("UPDATE pgq_ops.reap_log SET at = at - interval '25 h'")
    assert doctor(jobs).passed(idempotency)


def test_a_log_that_may_not_be_read_is_told_with_the_way_to_get_it(jobs: Database, make_role: Roles) -> None:
    versions.install(jobs.connect())
    reader = make_role("reader")
    jobs.execute(f'GRANT SELECT ON jobs TO "{reader}"')
    verdict = doctor(jobs, role=reader).verdict(idempotency)
    assert verdict.outcome == "unknown"
    assert "permission denied for schema pgq_ops" in verdict.text
    assert verdict.remedy == f"pgq-ops grants {reader} --tier observe --sql"
