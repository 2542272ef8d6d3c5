"""Leases against what is seen of them: how long jobs run, and how close to the end heartbeats come."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.checks.production import heartbeat_margin, lease_length
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
