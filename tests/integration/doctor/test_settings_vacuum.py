"""The points about autovacuum and about what becomes of finished jobs."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks import autovacuum_off as autovacuum_check
from pgq_ops.checks.finding import Severity
from pgq_ops.checks.production import (
    autovacuum_off,
    autovacuum_threshold,
    retention,
)
from pgq_ops.stats import index_states
from tests.support.doctor_points import Doctor, counted, doctor, remedies

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles


@pytest.fixture
def worker(jobs: Database, make_role: Roles) -> str:
    """A role that works the table; nobody else is judged but the superuser whose session the test is."""
    role = make_role("worker")
    jobs.execute(f'GRANT SELECT, UPDATE ON jobs TO "{role}"')
    return role


def test_autovacuum_that_is_off_for_the_table_is_critical_once_dead_rows_lie_there_that_nobody_removes(
    jobs: Database,
) -> None:
    assert doctor(jobs).passed(autovacuum_off)
    jobs.execute("ALTER TABLE jobs SET (autovacuum_enabled = off)")
    finding = doctor(jobs).finding(autovacuum_off)
    assert finding.severity is Severity.WARNING
    assert "no VACUUM within a day is on record: dead rows stay" in finding.summary
    [told] = autovacuum_check.check(doctor(jobs).examination.look)
    assert "nobody removes dead rows, and each claim steps over them" in told.summary
    assert finding.evidence == {"server": True, "tables": ["jobs"]}
    jobs.execute("INSERT INTO jobs (queue, status) SELECT 'a', 'pending' FROM generate_series(1, 10100)")
    counted(jobs, "DELETE FROM jobs", "SELECT pg_stat_get_dead_tuples('jobs'::regclass) >= 10100")
    assert doctor(jobs).finding(autovacuum_off).severity is Severity.CRITICAL
    counted(jobs, "VACUUM jobs", "SELECT pg_stat_get_last_vacuum_time('jobs'::regclass) IS NOT NULL")
    finding = doctor(jobs).finding(autovacuum_off)
    assert finding.severity is Severity.WARNING
    assert "somebody runs VACUUM instead, last " in finding.summary
    assert " ago: until the next one dead rows stay, and each claim steps over them" in finding.summary
    look = doctor(jobs).examination.look
    [told] = autovacuum_check.check(look)
    assert "dead rows stay until somebody runs VACUUM again, last " in told.summary
    [statement] = remedies(finding)
    jobs.execute(statement)
    assert doctor(jobs).passed(autovacuum_off)


def test_sessions_that_count_nothing_are_critical(jobs: Database, worker: str) -> None:
    jobs.execute(f'ALTER ROLE "{worker}" IN DATABASE "{jobs.name}" SET track_counts = off')
    finding = doctor(jobs).finding(autovacuum_off)
    assert finding.severity is Severity.CRITICAL
    assert finding.evidence == {"roles": [worker]}
    [statement] = remedies(finding)
    jobs.execute(statement)
    assert doctor(jobs).passed(autovacuum_off)


@pytest.mark.parametrize(("threshold", "passes"), [(50_000, True), (50_001, False)])
def test_a_threshold_at_which_claims_are_slow_already_is_found(jobs: Database, threshold: int, *, passes: bool) -> None:
    jobs.execute(
        f"ALTER TABLE jobs SET (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = {threshold})"
    )
    if passes:
        assert "after 50,000 dead rows" in doctor(jobs).passed(autovacuum_threshold)
        return
    finding = doctor(jobs).finding(autovacuum_threshold)
    assert finding.evidence["thresholds"] == {"jobs": threshold}
    for statement in remedies(finding):
        jobs.execute(statement)
    assert "after 5,000 dead rows" in doctor(jobs).passed(autovacuum_threshold)


def test_a_threshold_of_a_partition_that_is_over_does_not_matter(partitioned: Database) -> None:
    partitioned.execute("ALTER TABLE jobs_2020 SET (autovacuum_vacuum_threshold = 60000)")
    assert doctor(partitioned).passed(autovacuum_threshold)
    partitioned.execute("ALTER TABLE jobs_later SET (autovacuum_vacuum_threshold = 60000)")
    assert doctor(partitioned).finding(autovacuum_threshold).evidence["thresholds"] == {"jobs_later": 60_000}


def test_autovacuum_settings_that_were_not_read_are_unknown(jobs: Database) -> None:
    one = doctor(jobs)
    blind = Doctor(replace(one.examination, look=replace(one.examination.look, health=None)))
    for point in (autovacuum_off, autovacuum_threshold, retention):
        assert "could not be read" in blind.unknown(point)


DONE = "INSERT INTO jobs (status, finished_at) SELECT 'done', now() - interval '30 days' FROM generate_series(1, {})"
INSERTED = "SELECT pg_stat_get_live_tuples('jobs'::regclass) >= {}"


def test_a_hundred_thousand_finished_jobs_that_nobody_removes_are_found_and_the_remedy_removes_some(
    jobs: Database,
) -> None:
    counted(jobs, DONE.format(99_999), INSERTED.format(99_999))
    assert "only 99,999 rows" in doctor(jobs).passed(retention)
    counted(jobs, DONE.format(1), INSERTED.format(100_000))
    finding = doctor(jobs).finding(retention)
    assert finding.severity is Severity.INFO
    assert finding.evidence["rows"] == 100_000
    [statement] = remedies(finding)
    assert jobs.execute(statement) == 1_000


def test_a_million_rows_are_a_warning_and_who_deletes_four_fifths_of_them_keeps_up(jobs: Database) -> None:
    """So many rows are only counted here, not written: the rest of the look is real."""
    look = (one := doctor(jobs)).examination.look
    assert look.health is not None
    health = look.health

    def with_rows(live: int, deleted: int = 0) -> Doctor:
        leaf = replace(health.leaves[0], live_rows=live, inserted=live + deleted, deleted=deleted)
        changed = replace(look, health=replace(health, leaves=(leaf,)), depths=None)
        return Doctor(replace(one.examination, look=changed))

    assert with_rows(999_999).finding(retention).severity is Severity.INFO
    assert with_rows(1_000_000).finding(retention).severity is Severity.WARNING
    states = one.examination.fact(index_states.read)
    for counting, daily in ((86_399.0, False), (86_400.0, True), (None, False)):  # nobody waits a day
        one.examination._facts[index_states.read] = replace(states, counting_seconds=counting)
        assert ("1,000,000 more each day" in with_rows(1_000_000).finding(retention).summary) is daily
    assert with_rows(200_000, 799_999).finding(retention).evidence["deleted"] == 799_999
    assert "800,000 deleted for 1,000,000 inserted" in with_rows(200_000, 800_000).passed(retention)


def test_a_backlog_is_no_history(jobs: Database) -> None:
    counted(jobs, "INSERT INTO jobs DEFAULT VALUES", "SELECT true")
    counted(jobs, "INSERT INTO jobs (queue) SELECT 'q' FROM generate_series(1, 100000)", INSERTED.format(100_001))
    assert "of which about 0 are finished" in doctor(jobs).passed(retention)


def test_partitions_by_time_are_a_way_out_for_finished_jobs(partitioned: Database) -> None:
    assert "2 partitions over" in doctor(partitioned).passed(retention)
