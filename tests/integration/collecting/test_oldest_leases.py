"""Which queue has the oldest of each kind of lease: in the evidence, and in the queries that list the jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from pgq_ops.stats import leases
from tests.support.collecting import collection_of
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from tests.support.database import Database

CLAIMED = FIELD.replace('queue = "queue"', 'queue = "queue"\nleased_at = "claimed_at"')
HOUR = 3_600.0


def _run(database: Database, *rows: tuple[int, str, str, str]) -> None:
    """Running jobs: id, queue, lease end and claim (SQL)."""
    create_field_table(database)
    database.execute("ALTER TABLE jobs ADD claimed_at timestamptz")
    for job, queue, end, claimed in rows:
        database.execute(
            f"INSERT INTO jobs (id, queue, status, lease_until, claimed_at, created_at)"
            f" VALUES ({job}, '{queue}', 'running', {end}, {claimed}, now() - interval '9 d')"
        )


def _ids(database: Database, remedy: str) -> list[int]:
    [query] = [line for line in remedy.splitlines() if line.startswith("SELECT")]
    # Without the times, which Python has no room for where they are infinite.
    return [job for (job,) in database.rows(f"SELECT q.id FROM ({query.rstrip(';')}) AS q")]


def _oldest(evidence: object) -> list[Any]:
    assert isinstance(evidence, list)
    return [(one["queue"], one["seconds"]) for one in evidence]


def test_expired_and_stale_leases_are_told_by_queue_the_oldest_first(database: Database) -> None:
    _run(
        database,
        (1, "many", "now() - interval '1 h'", "NULL"),
        (2, "many", "now() - interval '2 h'", "NULL"),
        (3, "one", "now() - interval '5 h'", "NULL"),
        (4, "many", "now() - interval '30 h'", "NULL"),
        (5, "many", "now() - interval '40 h'", "NULL"),
        (6, "one", "now() - interval '90 h'", "NULL"),
        (7, "live", "now() + interval '1 h'", "NULL"),
        (8, "endless", "'-infinity'", "NULL"),
        (9, "fresh", "now() - interval '30 m'", "NULL"),
    )
    seen = collection_of(database)
    seen.collect(reaping=False)
    expired = seen.finding("not-reaped").evidence
    assert expired["queues"] == {"many": 2, "one": 1, "endless": 1, "fresh": 1}
    assert _oldest(expired["oldest"]) == [
        ("one", pytest.approx(5 * HOUR, abs=60)),
        ("many", pytest.approx(2 * HOUR, abs=60)),
        ("fresh", pytest.approx(0.5 * HOUR, abs=60)),
        ("endless", None),
    ]
    stale = seen.finding("stale-leases")
    assert stale.evidence["queues"] == {"many": 2, "one": 1}
    assert _oldest(stale.evidence["oldest"]) == [
        ("one", pytest.approx(90 * HOUR, abs=60)),
        ("many", pytest.approx(40 * HOUR, abs=60)),
    ]
    assert _ids(database, stale.remedy) == [6, 5, 4]
    found = leases.read(seen.collector.session.connection(), seen.table)
    unknown = {queue.queue for queue in found.queues if queue.oldest_stale_seconds is None}
    assert unknown == {"live", "endless", "fresh"}


@pytest.mark.case("R7")
def test_missing_leases_are_told_by_their_claim_or_else_their_creation(database: Database) -> None:
    _run(
        database,
        (1, "a", "NULL", "NULL"),
        (2, "b", "NULL", "NULL"),
        (3, "c", "NULL", "NULL"),
        (4, "d", "now() + interval '1 h'", "NULL"),
    )
    database.execute("""
        UPDATE jobs SET created_at = now() - interval '1 h' WHERE id = 1;
        UPDATE jobs SET created_at = 'infinity' WHERE id = 3
    """)
    missing = collection_of(database).healthy().finding("missing-leases")
    assert missing.evidence["oldest"] == [
        {"queue": "b", "seconds": pytest.approx(216 * HOUR, abs=60)},
        {"queue": "a", "seconds": pytest.approx(HOUR, abs=60)},
        {"queue": "c", "seconds": None},
    ]
    assert _ids(database, missing.remedy) == [2, 1, 3]
    undated = FIELD.replace('created_at = "created_at"\n', "")
    blind = collection_of(database, undated).healthy().finding("missing-leases")
    assert {one["seconds"] for one in blind.evidence["oldest"]} == {None}
    assert sorted(_ids(database, blind.remedy)) == [1, 2, 3]


def test_overlong_leases_are_told_the_oldest_claim_first_and_future_ones_the_furthest(database: Database) -> None:
    _run(
        database,
        (1, "many", "now() + interval '1 m'", "now() - interval '5 h'"),
        (2, "many", "now() + interval '1 m'", "now() - interval '6 h'"),
        (3, "one", "now() + interval '1 m'", "now() - interval '50 h'"),
        (4, "one", "now() + interval '1 m'", "now() - interval '3 h'"),
        (5, "many", "now() - interval '1 m'", "now() - interval '70 h'"),
        (6, "far", "now() + interval '9 d'", "now()"),
        (7, "far", "'infinity'", "now()"),
        (8, "far", "now() + interval '20 d'", "now()"),
    )
    seen = collection_of(database, CLAIMED + '[job_tables.jobs.lease]\nmax_runtime = "4h"\n').healthy()
    overlong = seen.finding("overlong-leases")
    assert overlong.evidence["queues"] == {"many": 2, "one": 1}
    assert _oldest(overlong.evidence["oldest"]) == [
        ("one", pytest.approx(50 * HOUR, abs=60)),
        ("many", pytest.approx(6 * HOUR, abs=60)),
    ]
    assert _ids(database, overlong.remedy) == [3, 2, 1]
    assert _ids(database, seen.finding("future-leases").remedy) == [7, 8, 6]


@pytest.mark.case("R13")
def test_of_each_queue_only_what_its_own_policy_calls_so_is_told(database: Database) -> None:
    _run(
        database,
        (1, "fast", "now() - interval '3 h'", "NULL"),
        (2, "video", "now() - interval '5 h'", "NULL"),
        (3, "video", "now() - interval '3 h'", "NULL"),
        (4, "off", "now() - interval '9 h'", "NULL"),
        (5, "slow", "now() - interval '30 h'", "NULL"),
    )
    queues = 'video.lease.grace = "4h"\noff.reaper.enabled = false\nslow.reaper.max_expired_age = "2d"\n'
    seen = collection_of(database, FIELD + f"[job_tables.jobs.queues]\n{queues}")
    seen.collect(reaping=False)
    assert [queue for queue, _ in _oldest(seen.finding("not-reaped").evidence["oldest"])] == ["slow", "video", "fast"]
    assert "stale-leases" not in seen.finding_ids()
