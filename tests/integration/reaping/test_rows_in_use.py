"""The reaper and whoever holds a row at the same moment."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import pytest

from pgq_ops.tasks.reap import Reap
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table, reap, statuses

if TYPE_CHECKING:
    from tests.support.database import Database

EXPIRED = """
INSERT INTO jobs (status, lease_until, locked_by, attempts)
SELECT 'running', now() - interval '1 minute', 'worker-1', 1 FROM generate_series(1, %(n)s)
"""


@pytest.mark.case("R1")
@pytest.mark.parametrize(
    "change",
    [
        "UPDATE jobs SET lease_until = now() + interval '5 minutes' WHERE id = 1",
        "UPDATE jobs SET status = 'done', lease_until = NULL WHERE id = 1",
        "UPDATE jobs SET locked_by = 'worker-2', attempts = 2, lease_until = now() + interval '5 minutes' WHERE id = 1",
    ],
    ids=["extended", "finished", "claimed again"],
)
def test_a_change_that_is_not_committed_yet_wins_and_nobody_waits_for_it(database: Database, change: str) -> None:
    create_field_table(database)
    database.execute(EXPIRED, {"n": 20})
    with database.connect(autocommit=False) as session:
        session.execute(change.encode())
        begun = time.monotonic()
        result = reap(database)
        waited = time.monotonic() - begun
        session.commit()
    assert result.requeued == 19
    assert waited < 2
    kept = database.rows("SELECT status, locked_by, attempts FROM jobs WHERE id = 1")
    assert kept[0][0] in {"running", "done"}
    assert kept[0][1] in {"worker-1", "worker-2"}
    assert statuses(database)["pending"] == 19


@pytest.mark.case("R1")
def test_a_heartbeat_that_commits_between_look_and_lock_keeps_its_job(database: Database) -> None:
    """The reaper's snapshot is held up at row 1 by a slow function until row 2 has a fresh lease."""
    create_field_table(database)
    database.execute(EXPIRED, {"n": 2})
    database.execute("""
        CREATE FUNCTION slow(queue text) RETURNS text LANGUAGE plpgsql AS
        $$ BEGIN PERFORM pg_sleep(0.4); RETURN queue; END $$
    """)
    toml = FIELD.replace('queue = "queue"', 'queue = { sql = "slow(queue)" }')
    toml += '[job_tables.jobs.queues.other]\nlease.grace = "1s"\n'
    sleeping = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'"
    with ThreadPoolExecutor(1) as pool:
        reaping = pool.submit(reap, database, toml)
        while not database.value(sleeping):
            assert not reaping.done()
        database.execute("UPDATE jobs SET lease_until = now() + interval '5 minutes' WHERE id = 2")
        assert not reaping.done()
        assert reaping.result().requeued == 1
    assert database.rows("SELECT id, status FROM jobs ORDER BY id") == [(1, "pending"), (2, "running")]


@pytest.mark.case("R12")
def test_a_hundred_locked_rows_do_not_hide_the_free_one_behind_them(database: Database) -> None:
    create_field_table(database)
    database.execute(EXPIRED, {"n": 101})
    toml = FIELD + "batch_size = 100\n"
    with database.connect(autocommit=False) as stuck:
        stuck.execute("SELECT 1 FROM jobs WHERE id <= 100 FOR UPDATE")
        result = reap(database, toml)
        assert result.requeued == 1
        assert database.rows("SELECT status FROM jobs WHERE id = 101") == [("pending",)]
        stuck.rollback()
    assert reap(database, toml).requeued == 100


@pytest.mark.case("R21")
def test_a_twin_that_is_not_committed_yet_delays_only_its_own_job(database: Database) -> None:
    create_field_table(database)
    database.execute("CREATE UNIQUE INDEX one_pending ON jobs (dedup_key) WHERE status = 'pending'")
    database.execute(EXPIRED, {"n": 50})
    database.execute("UPDATE jobs SET dedup_key = 'k' WHERE id = 25")
    with database.connect(autocommit=False) as inserting:
        inserting.execute("INSERT INTO jobs (status, dedup_key) VALUES ('pending', 'k')")
        result = reap(database)
        assert (result.requeued, result.conflicts, result.locked) == (49, 0, 1)
        inserting.rollback()
    assert reap(database).requeued == 1


def test_a_table_that_somebody_holds_is_busy_and_no_error(database: Database) -> None:
    create_field_table(database)
    database.execute(EXPIRED, {"n": 5})
    bound = bind_toml(database, FIELD)
    task = Reap(remembers=True)
    assert task.run(bound.connection, bound.table, lambda: False).outcome == "nothing"
    task._memories["jobs"].last_pass.clear()
    with database.connect(autocommit=False) as holder:
        holder.execute("LOCK TABLE jobs IN SHARE MODE")
        begun = time.monotonic()
        result = task.run(bound.connection, bound.table, lambda: True)
        assert time.monotonic() - begun < 1
        assert (result.outcome, result.busy) == ("busy", ("public.jobs",))


def test_two_reapers_at_once_count_each_job_once(database: Database) -> None:
    create_field_table(database)
    database.execute(EXPIRED, {"n": 2000})
    with ThreadPoolExecutor(4) as pool:
        results = [job.result() for job in [pool.submit(reap, database, FIELD + "batch_size = 50\n") for _ in range(4)]]
    assert sum(result.requeued for result in results) == 2000
    assert statuses(database) == {"pending": 2000}
    assert database.value("SELECT count(*) FROM jobs WHERE last_error LIKE '%requeued%requeued%'") == 0
