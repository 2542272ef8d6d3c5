"""When a job is requeued, how long it waits, and when it is buried."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.errors import NotInstalled
from pgq_ops.schema import versions
from tests.support.jobs import FIELD, create_field_table, reap, statuses

if TYPE_CHECKING:
    from tests.support.database import Database


@pytest.mark.case("R4")
@pytest.mark.parametrize(
    ("factor", "base", "longest", "jitter"),
    [(2.0, 10, 3600, 0.1), (1.0, 30, 3600, 0.5), (1000.0, 1, 864000, 1.0), (1.001, 10, 20, 0.0)],
)
def test_every_delay_keeps_to_its_bounds_whatever_the_attempts(
    database: Database, factor: float, base: int, longest: int, jitter: float
) -> None:
    create_field_table(database)
    for attempts in (0, 10, 31, 32, 43, 44, 62, 63, 1023, 1024, 100_000):
        for _ in range(20):
            database.execute(
                "INSERT INTO jobs (status, lease_until, attempts, run_at) VALUES ('running', now() - interval '1 m', %s, NULL)",
                [attempts],
            )
    backoff = f'backoff = {{ base = "{base}s", factor = {factor}, max = "{longest}s", jitter = {jitter} }}\n'
    toml = FIELD.replace('backoff = { base = "10s", factor = 2.0, max = "1h", jitter = 0.1 }\n', backoff)
    before = database.value("SELECT now()")
    result = reap(database, toml + "max_attempts = 2147483647\n")
    after = database.value("SELECT now()")
    assert result.requeued == 220
    low, high = database.rows(
        "SELECT min(run_at - %s::timestamptz), max(run_at - %s::timestamptz) FROM jobs", [after, before]
    )[0]
    tolerance = (after - before).total_seconds()
    assert low.total_seconds() >= base * (1 - jitter) - tolerance
    assert high.total_seconds() <= longest + tolerance
    if factor == 2.0:
        grown = database.value(
            "SELECT avg(extract(epoch FROM run_at - %s::timestamptz)) FROM jobs WHERE attempts = 10", [before]
        )
        assert float(grown) == pytest.approx(3600 * 0.95, rel=0.1)
        first = database.value(
            "SELECT avg(extract(epoch FROM run_at - %s::timestamptz)) FROM jobs WHERE attempts = 0", [before]
        )
        assert float(first) == pytest.approx(10 * 0.95, rel=0.1)


@pytest.mark.case("R9")
@pytest.mark.parametrize(("counted_at", "first"), [("claim", 4), ("reap", 3)])
def test_only_the_attempt_below_the_cap_is_requeued(database: Database, counted_at: str, first: int) -> None:
    create_field_table(database)
    for attempts in (first, first + 1, first + 2):
        database.execute(
            "INSERT INTO jobs (status, lease_until, attempts) VALUES ('running', now() - interval '1 m', %s)",
            [attempts],
        )
    result = reap(database, FIELD + f'max_attempts = 5\nattempts_counted_at = "{counted_at}"\n')
    assert (result.requeued, result.dead_lettered, result.remaining) == (1, 2, 0)
    added = 1 if counted_at == "reap" else 0
    assert database.rows("SELECT status, attempts FROM jobs ORDER BY id") == [
        ("pending", first + added),
        ("dead", first + 1 + added),
        ("dead", first + 2 + added),
    ]


@pytest.mark.case("R9")
def test_the_jobs_own_cap_goes_before_the_configured_one(database: Database) -> None:
    create_field_table(database)
    for attempts, cap in ((1, 1), (1, 2), (9, 10), (4, None), (5, None), (None, None)):
        database.execute(
            "INSERT INTO jobs (status, lease_until, attempts, max_attempts) VALUES ('running', now() - interval '1 m', %s, %s)",
            [attempts, cap],
        )
    reap(database, FIELD + "max_attempts = 5\n")
    found = [status for (status,) in database.rows("SELECT status FROM jobs ORDER BY id")]
    assert found == ["dead", "pending", "pending", "pending", "dead", "pending"]


@pytest.mark.case("R10")
def test_a_job_that_kills_its_worker_each_time_is_dead_after_the_cap(database: Database) -> None:
    """Workers that count only handled failures: the reaper counts, and the good job beside it stays."""
    create_field_table(database)
    database.execute("INSERT INTO jobs (status) VALUES ('pending'), ('pending')")
    toml = FIELD + 'max_attempts = 3\nattempts_counted_at = "reap"\n'
    runs = 0
    while database.rows("SELECT 1 FROM jobs WHERE id = 1 AND status = 'pending'"):
        database.execute("UPDATE jobs SET status = 'running', lease_until = now() - interval '1 s' WHERE id = 1")
        runs += 1
        reap(database, toml)
    assert runs == 3
    assert statuses(database) == {"dead": 1, "pending": 1}


def test_without_an_attempts_column_they_are_counted_in_the_reap_log(database: Database) -> None:
    create_field_table(database)
    database.execute("INSERT INTO jobs (status, attempts) VALUES ('pending', 99)")
    toml = (
        FIELD.replace('attempts = "attempts"\n', "").replace('max_attempts = "max_attempts"\n', "")
        + "max_attempts = 3\n"
    )
    with pytest.raises(NotInstalled, match="pgq-ops install"):
        reap(database, toml)
    versions.install(database.connect())
    seen = []
    for _ in range(3):
        database.execute("UPDATE jobs SET status = 'running', lease_until = now() - interval '1 s'")
        reap(database, toml)
        seen += database.rows("SELECT status, attempts FROM jobs")
    assert seen == [("pending", 99), ("pending", 99), ("dead", 99)]
    assert database.rows("SELECT outcome, job, attempt FROM pgq_ops.reap_log ORDER BY id") == [
        ("requeued", "1", 1),
        ("requeued", "1", 2),
        ("dead_lettered", "1", 3),
    ]


def test_a_burial_keeps_the_owner_and_the_error_and_adds_the_reason(database: Database) -> None:
    create_field_table(database)
    database.execute("""
        INSERT INTO jobs (status, lease_until, attempts, locked_by, last_error)
        VALUES ('running', '2026-01-01 10:00Z'::timestamptz, 5, 'worker-7', 'first: out of memory')
    """)
    result = reap(database, FIELD, include_stale=True)
    assert result.dead_lettered == 1
    [(status, owner, error, finished)] = database.rows(
        "SELECT status, locked_by, last_error, finished_at > now() - interval '1 minute' FROM jobs"
    )
    assert (status, owner, finished) == ("dead", "worker-7", True)
    assert error.startswith("first: out of memory\n")
    for part in ("buried", "lease expired 2026-01-01T10:00:00Z", "attempt 5 of 5", "worker-7"):
        assert part in error


@pytest.mark.case("R6")
def test_the_workers_own_claim_finds_a_requeued_job_after_its_backoff(database: Database) -> None:
    create_field_table(database)
    database.execute("""
        INSERT INTO jobs (status, lease_until, locked_by, run_at, attempts)
        VALUES ('running', now() - interval '1 minute', 'worker-1', now() - interval '2 minutes', 1)
    """)
    claim = "SELECT id FROM jobs WHERE status = 'pending' AND lease_until IS NULL AND run_at <= now()"
    assert reap(database).requeued == 1
    assert database.rows(claim) == []
    assert database.rows("SELECT lease_until, locked_by, attempts FROM jobs") == [(None, None, 1)]
    database.execute("UPDATE jobs SET run_at = run_at - interval '20 seconds'")
    assert database.rows(claim) == [(1,)]


def test_a_key_longer_than_an_index_entry_is_logged_and_counted_all_the_same(database: Database) -> None:
    create_field_table(database)
    versions.install(database.connect())
    database.execute("ALTER TABLE jobs DROP CONSTRAINT jobs_pkey, ALTER id DROP IDENTITY")
    database.execute("ALTER TABLE jobs ALTER id TYPE text USING NULL")
    database.execute("ALTER TABLE jobs ADD PRIMARY KEY (id)")
    database.execute(
        "INSERT INTO jobs (id, status) VALUES (repeat('x', 2600), 'pending'), (repeat('x', 2599) || 'y', 'pending')"
    )
    toml = (
        FIELD.replace('attempts = "attempts"\n', "").replace('max_attempts = "max_attempts"\n', "")
        + "max_attempts = 2\n"
    )
    for expected in ({"pending": 1, "running": 1}, {"dead": 1, "running": 1}):
        database.execute(
            "UPDATE jobs SET status = 'running', lease_until = now() - interval '1 s' WHERE right(id, 1) = 'x'"
        )
        database.execute(
            "UPDATE jobs SET status = 'running', lease_until = now() + interval '1 h' WHERE right(id, 1) = 'y'"
        )
        assert reap(database, toml).conflicts == 0
        assert statuses(database) == expected
