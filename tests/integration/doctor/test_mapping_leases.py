"""Leases against what is seen of them: how long jobs run, how close to the end heartbeats come, and whether they are HOT."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks.production import heartbeat_margin, hot_heartbeats, lease_length
from tests.support.doctor_points import doctor
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from tests.support.database import Database

LEASED_AT = FIELD.replace("lease_expires_at", "leased_at") + '[job_tables.jobs.lease]\ntimeout = "5m"\ngrace = "10s"\n'
HEARTBEAT = FIELD.replace("lease_expires_at", "heartbeat_at") + '[job_tables.jobs.lease]\ntimeout = "60s"\n'
FINISHED_INDEX = "CREATE INDEX ON jobs (finished_at)"
LONGER = '[job_tables.jobs.queues.long]\nlease.timeout = "1h"\n'
# With leases of 60 s: what is left of each of 20, as heartbeats every so often leave it.
MANY = "INSERT INTO jobs (status, lease_until) SELECT 'running', now() + make_interval(secs => 60 - {every} * i / 20.0) FROM generate_series(0, {last}) AS i"


@pytest.fixture
def jobs(database: Database) -> Database:
    create_field_table(database)
    return database


def finish(database: Database, seconds: float, queue: str = "a", ago: str = "1 minute") -> None:
    database.execute(
        f"INSERT INTO jobs (queue, status, lease_until, finished_at) SELECT %s, 'done', t - make_interval(secs => %s), t FROM (SELECT now() - interval '{ago}') AS at(t)",
        [queue, seconds],
    )


@pytest.mark.parametrize(("seconds", "found"), [(309, False), (311, True)])
def test_jobs_that_ran_longer_than_lease_and_grace_are_found(
    jobs: Database,
    seconds: float,
    found: bool,  # noqa: FBT001
) -> None:
    jobs.execute(FINISHED_INDEX)
    for ran in (1, seconds):
        finish(jobs, ran)
    finish(jobs, 10_000, ago="25 hours")
    one = doctor(jobs, LEASED_AT)
    if not found:
        assert one.passed(lease_length) == "the longest of the last 2 jobs ran 5m9s"
        return
    finding = one.finding(lease_length)
    assert finding.evidence == {"jobs": 2, "longer": 1, "longest_seconds": 311.0}
    assert 'timeout = "623s"' in finding.remedy


def test_each_job_is_measured_by_its_own_queue_s_lease(jobs: Database) -> None:
    jobs.execute(FINISHED_INDEX)
    finish(jobs, 3_000, queue="long")
    assert doctor(jobs, LEASED_AT + LONGER).passed(lease_length)
    finish(jobs, 3_000, queue="a")
    assert doctor(jobs, LEASED_AT + LONGER).finding(lease_length).evidence["longer"] == 1


def test_claims_that_are_gone_infinite_or_after_the_end_tell_no_run_time(jobs: Database) -> None:
    jobs.execute(FINISHED_INDEX)
    jobs.execute("""
        INSERT INTO jobs (status, lease_until, finished_at) VALUES ('done', NULL, now()), ('done', '-infinity', now()),
            ('done', now() + interval '1 h', now()), ('done', now(), 'infinity'), ('pending', now() - interval '9 h', now())
    """)
    assert "no job is known to have finished" in doctor(jobs, LEASED_AT).unknown(lease_length)


def test_how_long_jobs_run_is_not_known_without_an_index_to_the_last_ones(jobs: Database) -> None:
    finish(jobs, 10_000)
    assert doctor(jobs, LEASED_AT).unknown(lease_length)


@pytest.mark.parametrize("toml", [FIELD, HEARTBEAT], ids=["lease_expires_at", "heartbeat_at"])
def test_where_leases_can_be_extended_the_run_time_does_not_matter(jobs: Database, toml: str) -> None:
    jobs.execute(FINISHED_INDEX)
    finish(jobs, 10_000)
    assert doctor(jobs, toml).not_applicable(lease_length)


@pytest.mark.parametrize(("every", "found"), [(20, False), (26, False), (36, True), (55, True)])
def test_heartbeats_that_come_when_less_is_left_than_passes_between_two_are_found(
    jobs: Database,
    every: int,
    found: bool,  # noqa: FBT001
) -> None:
    jobs.execute(MANY.format(every=every, last=20))
    one = doctor(jobs)
    if not found:
        assert one.passed(heartbeat_margin)
        return
    finding = one.finding(heartbeat_margin)
    assert finding.evidence["leases"] == 21
    assert finding.evidence["between_heartbeats_seconds"] == pytest.approx(every * 0.9, abs=0.2)
    # The remedy's grace is enough.
    assert doctor(jobs, FIELD + finding.remedy).passed(heartbeat_margin)


def test_a_heartbeat_column_is_measured_with_its_timeout(jobs: Database) -> None:
    jobs.execute(
        MANY.format(every=50, last=20).replace(
            "now() + make_interval(secs => 60 -", "now() - make_interval(secs => 0 +"
        )
    )
    found = doctor(jobs, HEARTBEAT).finding(heartbeat_margin)
    assert found.evidence["between_heartbeats_seconds"] == pytest.approx(45, abs=5)
    graced = HEARTBEAT + 'grace = "1m"\n'
    assert doctor(jobs, graced).passed(heartbeat_margin)


def test_heartbeats_that_all_came_at_once_and_long_ago_are_late(jobs: Database) -> None:
    jobs.execute(
        "INSERT INTO jobs (status, lease_until) SELECT 'running', now() - interval '50 s' FROM generate_series(1, 30)"
    )
    assert doctor(jobs, HEARTBEAT).finding(heartbeat_margin).evidence["left_seconds"] == pytest.approx(10, abs=5)


@pytest.mark.parametrize(("last", "too_few"), [(18, True), (19, False)])
def test_of_fewer_than_twenty_leases_nothing_is_concluded(
    jobs: Database,
    last: int,
    too_few: bool,  # noqa: FBT001
) -> None:
    jobs.execute(MANY.format(every=55, last=last))
    jobs.execute(
        "INSERT INTO jobs (status, lease_until) VALUES ('running', 'infinity'), ('running', NULL), ('running', now() + interval '9 d')"
    )
    outcome = doctor(jobs).verdict(heartbeat_margin).outcome
    assert outcome == ("unknown" if too_few else "finding")


def test_while_leases_expire_the_others_of_dead_workers_are_not_taken_for_late_heartbeats(jobs: Database) -> None:
    jobs.execute(MANY.format(every=63, last=20))
    assert "leases have expired just now" in doctor(jobs).unknown(heartbeat_margin)


@pytest.mark.parametrize(
    "index",
    [
        "jobs (lease_until)",
        "jobs (id, lease_until) WHERE status = 'running'",
        "jobs (id) INCLUDE (lease_until)",
        "jobs (id) WHERE lease_until IS NOT NULL",
        "jobs (COALESCE(lease_until, run_at))",
    ],
)
def test_an_index_that_holds_or_reads_the_heartbeat_s_column_is_found(jobs: Database, index: str) -> None:
    assert doctor(jobs).passed(hot_heartbeats)
    jobs.execute(f'CREATE INDEX "of leases" ON {index}')
    found = doctor(jobs).finding(hot_heartbeats)
    assert found.evidence == {"indexes": ["public.of leases"], "columns": ["lease_until"]}
    [statement] = [line for line in found.remedy.splitlines() if line.startswith("DROP")]
    jobs.execute(statement)
    assert doctor(jobs).passed(hot_heartbeats)


@pytest.mark.parametrize(("heartbeats", "severity"), [(3, "info"), (9, "info"), (11, "warning")])
def test_such_an_index_is_a_warning_where_heartbeats_abound(jobs: Database, heartbeats: int, severity: str) -> None:
    jobs.execute("CREATE INDEX ON jobs (lease_until)")
    worker = jobs.connect()
    worker.execute("INSERT INTO jobs (status, lease_until) SELECT 'running', now() FROM generate_series(1, 1000)")
    for _ in range(heartbeats):
        worker.execute("UPDATE jobs SET lease_until = lease_until + interval '1 s'")
    worker.close()
    assert doctor(jobs).finding(hot_heartbeats).severity == severity


def test_a_unique_constraint_on_the_heartbeat_s_column_is_found_too(jobs: Database) -> None:
    jobs.execute("ALTER TABLE jobs ADD CONSTRAINT odd UNIQUE (lease_until, id)")
    assert doctor(jobs).finding(hot_heartbeats).evidence["indexes"] == ["public.odd"]


def test_indexes_of_each_leaf_are_looked_at(database: Database) -> None:
    database.execute("""
        CREATE TABLE jobs (id bigint, status text, run_at timestamptz, lease_until timestamptz, locked_by text, attempts int,
            max_attempts int, queue text, created_at timestamptz, finished_at timestamptz, last_error text)
            PARTITION BY RANGE (id);
        CREATE TABLE jobs_1 PARTITION OF jobs FOR VALUES FROM (1) TO (100);
        CREATE TABLE jobs_2 PARTITION OF jobs FOR VALUES FROM (100) TO (200);
        CREATE INDEX on_two ON jobs_2 (lease_until)
    """)
    assert doctor(database).finding(hot_heartbeats).evidence["indexes"] == ["public.on_two"]


def test_a_brin_index_stands_in_the_way_only_before_16(jobs: Database, pg_major: int) -> None:
    jobs.execute("CREATE INDEX ON jobs USING brin (lease_until)")
    one = doctor(jobs)
    assert one.passed(hot_heartbeats) if pg_major >= 16 else one.finding(hot_heartbeats)


def test_a_claim_time_that_nobody_extends_may_be_indexed(jobs: Database) -> None:
    jobs.execute("CREATE INDEX ON jobs (lease_until)")
    assert doctor(jobs, LEASED_AT).not_applicable(hot_heartbeats)


@pytest.mark.parametrize(("fillfactor", "heartbeats", "found"), [(100, 12, True), (100, 4, False), (30, 12, False)])
def test_heartbeats_that_find_no_room_are_told_by_the_counters(
    jobs: Database,
    fillfactor: int,
    heartbeats: int,
    found: bool,  # noqa: FBT001
) -> None:
    jobs.execute(f"ALTER TABLE jobs SET (fillfactor = {fillfactor}, autovacuum_enabled = off)")
    worker = jobs.connect(autocommit=False)
    worker.execute("INSERT INTO jobs (status, lease_until) SELECT 'running', now() FROM generate_series(1, 3000)")
    worker.commit()
    # All in one transaction: what it leaves behind cannot be pruned before its end.
    for _ in range(heartbeats):
        worker.execute("UPDATE jobs SET lease_until = lease_until + interval '1 s'")
    worker.commit()
    worker.close()
    one = doctor(jobs)
    if not found:
        assert "updates were HOT" in one.passed(hot_heartbeats)
        return
    finding = one.finding(hot_heartbeats)
    assert finding.severity == "info"
    assert finding.evidence["updated"] == 36_000
    [statement] = [line for line in finding.remedy.splitlines() if line.startswith("ALTER")]
    jobs.execute(statement)
