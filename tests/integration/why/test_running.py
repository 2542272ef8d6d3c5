"""`why` of a running job: its lease, and who holds it, under which policy."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest

from tests.support.article_tables import LEASE_TABLE, STARTED_AT_TABLE
from tests.support.jobs import FIELD, create_field_table
from tests.support.why import as_json, both, run, told

if TYPE_CHECKING:
    from tests.support.database import Database

ENDS = [
    ("now() + interval '5 m'", "live", r"Running by worker-7; its lease ends in [45]m.* \(.*UTC\), attempt 3 of 5\."),
    ("now() - interval '9 m'", "live", r"; lease expired 9m\d*s? ?ago \(.*\), still within the grace of 10m, attempt"),
    ("now() - interval '11 m'", "expired", r"; lease expired 11m\d*s? ?ago \(.* UTC\), attempt 3 of 5\."),
    ("now() - interval '24 h 9 m'", "expired", r"lease expired 1d9m ago"),
    (
        "now() - interval '24 h 11 m'",
        "stale",
        r"lease expired 1d11m ago(.|\n)*max_expired_age \(1d\)(.|\n)*--include-stale",
    ),
    ("NULL", "missing", r"it has no lease, attempt 3 of 5\.\nWithout a lease nothing takes it back"),
    ("now() + interval '8 d'", "live", r"further ahead than any can"),
    ("'infinity'", "live", r"its lease never ends(.|\n)*As long as its lease does not end, nothing takes it back"),
    ("'-infinity'", "expired", r"its lease has always been over(.|\n)*requeues it"),
]


@pytest.mark.case("R8")
def test_the_lease_is_told_by_its_end(database: Database) -> None:
    create_field_table(database)
    toml = FIELD + '[job_tables.jobs.lease]\ngrace = "10m"\n'
    for job, (end, condition, sentence) in enumerate(ENDS):
        run(database, end, job)
        seen, text = both(database, job, toml)
        assert seen["lease"]["condition"] == condition, end
        assert re.search(sentence, text), text


@pytest.mark.case("R13")
def test_each_job_is_told_under_the_policy_of_its_own_queue(database: Database) -> None:
    create_field_table(database)
    for job, queue in enumerate(("fast", "video", "off", None), 1):
        run(database, "now() - interval '3 h'", job, queue=queue)
    toml = FIELD + '[job_tables.jobs.queues]\nvideo.lease.grace = "4h"\noff.reaper.enabled = false\n'
    conditions = [as_json(database, job, toml)["lease"]["condition"] for job in (1, 2, 3, 4)]
    assert conditions == ["expired", "live", "expired", "expired"]
    assert "still within the grace of 4h" in told(database, 2, toml)
    off = told(database, 3, toml)
    assert "Reaping is switched off for queue off (reaper.enabled = false): nothing takes it back" in off
    assert "pgq-ops reap" not in off
    assert as_json(database, 3, toml)["reaper"]["obstacle"] == "switched off"
    assert "pgq-ops reap jobs" in told(database, 4, toml)


@pytest.mark.case("R7")
def test_a_job_without_a_lease_is_taken_back_only_by_its_age(database: Database) -> None:
    create_field_table(database)
    run(database, "NULL")
    assert "(set lease.missing_after)" in told(database, 1)
    late = FIELD + '[job_tables.jobs.lease]\nmissing_after = "47h"\n'
    assert "By hand, this requeues it" in told(database, 1, late)
    early = FIELD + '[job_tables.jobs.lease]\nmissing_after = "49h"\n'
    assert "once the lease is over, this requeues it" in told(database, 1, early)
    assert 3_500 < as_json(database, 1, early)["reaper"]["within_seconds"] < 3_620
    undated = FIELD.replace('created_at = "created_at"\n', "")
    assert "map created_at and set lease.missing_after" in told(database, 1, undated)
    database.execute("UPDATE jobs SET created_at = 'infinity'")
    assert "when it was claimed or created is not known either" in told(database, 1, late)


def test_a_heartbeat_tells_when_the_lease_ends_and_how_long_ago_it_came(database: Database) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ADD claimed_at bigint")
    run(database, "now() - interval '4 m'")
    database.execute("UPDATE jobs SET claimed_at = extract(epoch FROM now() - interval '5 h') * 1000")
    toml = FIELD.replace('lease_expires_at = "lease_until"', 'heartbeat_at = "lease_until"\nleased_at = "claimed_at"')
    text = told(database, 1, toml + '[job_tables.jobs.lease]\ntimeout = "5m"\nmax_runtime = "4h"\n')
    assert re.search(
        r"by worker-7, claimed 5h\d*s? ?ago \(.*\), last heartbeat 4m\d*s? ?ago \(.*\); its lease ends in", text
    )
    assert "kept alive for longer than lease.max_runtime (4h): the worker may hang" in text
    assert "lease expired 1m" in told(database, 1, toml + '[job_tables.jobs.lease]\ntimeout = "3m"\n')


def test_how_long_a_job_runs_cannot_be_told_without_the_time_of_its_claim(database: Database) -> None:
    create_field_table(database)
    run(database, "now() + interval '5 m'")
    unsaid = "For how long it has been running cannot be told"
    assert unsaid not in told(database, 1)
    text = told(database, 1, FIELD + '[job_tables.jobs.lease]\nmax_runtime = "4h"\n')
    assert f"{unsaid}, so neither whether that is longer than lease.max_runtime (4h): leased_at is not mapped." in text


def test_both_presets_are_told(database: Database) -> None:
    database.execute(LEASE_TABLE)
    database.execute(STARTED_AT_TABLE)
    database.execute("""
        INSERT INTO demo_queue_jobs (status, lease_until, claimed_by, attempts, payload)
        VALUES ('running', now() - interval '1 m', 'w', 1, '{}');
        INSERT INTO jobs (status, started_at, attempts) VALUES ('running', now() - interval '6 m', 2)
    """)
    toml = (
        '[job_tables.emails]\ntable = "demo_queue_jobs"\npreset = "lease"\n'
        '[job_tables.other]\ntable = "jobs"\npreset = "started-at"\n'
    )
    text = told(database, 1, toml)
    assert re.search(r"Running by w; lease expired 1m\d*s? ?ago \(.*\), attempt 1 of 5\.", text)
    assert re.search(r"Running, claimed 6m\d*s? ?ago \(.*\); lease expired 1m\d*s? ?ago \(.*\), attempt 2 of 5\.", text)


def test_a_locked_row_is_passed_over_and_the_holder_is_named(database: Database) -> None:
    create_field_table(database)
    run(database, "now() - interval '1 m'")
    holder = database.connect(autocommit=False, application_name="worker 7")
    holder.execute("SELECT FROM jobs FOR UPDATE")
    text = told(database, 1)
    assert (
        f"Its row is locked by session {holder.info.backend_pid} (worker 7, user postgres, idle in transaction" in text
    )
    assert "the reaper passes it over until that ends" in text
    holder.rollback()
    assert "locked" not in told(database, 1)


def test_a_table_that_cannot_be_reaped_says_what_is_missing(database: Database) -> None:
    create_field_table(database)
    run(database, "now() - interval '1 m'")
    toml = FIELD.partition("[job_tables.jobs.reaper]")[0].replace('"run_at"', '{ sql = "run_at" }')
    text = told(database, 1, toml)
    assert (
        "Nothing takes it back, as the table cannot be reaped: job_tables.jobs.columns.available_at: cannot be" in text
    )
    assert as_json(database, 1, toml)["reaper"]["obstacle"] == "problem"
