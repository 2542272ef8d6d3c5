"""The results that the articles report, on their own table with their own statements."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from tests.support.article_tables import LEASE_CLAIM, LEASE_COMPLETE, LEASE_HEARTBEAT, LEASE_TABLE
from tests.support.binding import LEASE
from tests.support.jobs import reap

if TYPE_CHECKING:
    from tests.support.database import Database

Connection = psycopg.Connection[Any]


@pytest.fixture
def queue(database: Database) -> Database:
    """Three pending jobs with the ids 1, 2 and 3."""
    database.execute(LEASE_TABLE)
    database.execute("INSERT INTO demo_queue_jobs (payload) SELECT '{}' FROM generate_series(1, 3)")
    return database


def claim(connection: Connection, worker: str, lease_seconds: float = 60) -> tuple[Any, ...] | None:
    return connection.execute(LEASE_CLAIM.encode(), {"worker": worker, "lease_seconds": lease_seconds}).fetchone()


def complete(connection: Connection, job: int, version: int) -> int:
    return connection.execute(LEASE_COMPLETE.encode(), {"job": job, "version": version}).rowcount


def test_nowait_on_a_locked_row_fails_with_55p03(queue: Database) -> None:
    with queue.connect(autocommit=False) as first:
        first.execute("SELECT id FROM demo_queue_jobs ORDER BY id LIMIT 1 FOR UPDATE")
        with pytest.raises(psycopg.errors.LockNotAvailable) as caught:
            queue.execute("SELECT id FROM demo_queue_jobs ORDER BY id LIMIT 1 FOR UPDATE NOWAIT")
    assert caught.value.sqlstate == "55P03"


def test_skip_locked_gives_the_next_id(queue: Database) -> None:
    with queue.connect(autocommit=False) as first:
        first.execute("SELECT id FROM demo_queue_jobs ORDER BY id LIMIT 1 FOR UPDATE")
        assert queue.rows("SELECT id FROM demo_queue_jobs ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED") == [(2,)]


def test_the_first_atomic_claim_has_version_1(queue: Database) -> None:
    claimed = claim(queue.connect(), "worker-1")
    assert claimed is not None
    assert claimed[:2] == (1, 1)


def test_a_claim_can_come_back_empty_while_three_rows_are_pending(queue: Database) -> None:
    with queue.connect(autocommit=False) as other:
        other.execute("SELECT id FROM demo_queue_jobs FOR UPDATE")
        assert claim(queue.connect(), "worker-1") is None
        assert queue.value("SELECT count(*) FROM demo_queue_jobs WHERE status = 'pending'") == 3


def test_two_workers_in_open_transactions_get_two_ids(queue: Database) -> None:
    with queue.connect(autocommit=False) as first, queue.connect(autocommit=False) as second:
        one, two = claim(first, "worker-1"), claim(second, "worker-2")
    assert one is not None
    assert two is not None
    assert {one[0], two[0]} == {1, 2}


def test_a_dead_workers_job_comes_back_and_the_old_worker_can_neither_extend_nor_complete_it(queue: Database) -> None:
    dead, other = queue.connect(), queue.connect()
    claimed = claim(dead, "worker-1", lease_seconds=-1)
    assert claimed is not None
    job, version, _ = claimed
    result = reap(queue, LEASE)
    assert (result.requeued, result.dead_lettered) == (1, 0)
    assert complete(dead, job, version) == 0
    queue.execute("UPDATE demo_queue_jobs SET available_at = now() - interval '1 hour' WHERE id = %s", [job])
    again = claim(other, "worker-2")
    assert again is not None
    assert again[:2] == (job, version + 1)
    beat = {"job": job, "version": version, "lease_seconds": 60}
    assert dead.execute(LEASE_HEARTBEAT.encode(), beat).rowcount == 0
    assert complete(dead, job, version) == 0
    assert complete(other, job, version + 1) == 1
    assert queue.rows("SELECT status, claimed_by FROM demo_queue_jobs WHERE id = %s", [job]) == [("done", "worker-2")]


def test_a_late_heartbeat_that_commits_first_keeps_its_job(queue: Database) -> None:
    worker = queue.connect()
    claimed = claim(worker, "worker-1", lease_seconds=-1)
    assert claimed is not None
    beat = {"job": claimed[0], "version": claimed[1], "lease_seconds": 60}
    assert worker.execute(LEASE_HEARTBEAT.encode(), beat).rowcount == 1
    assert reap(queue, LEASE).requeued == 0
    assert complete(worker, claimed[0], claimed[1]) == 1
