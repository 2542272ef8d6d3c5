"""Looks that take too long: cut off by the timeout, replaced by what can be said without them."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

import pytest
from psycopg import sql as composing

from pgq_ops.db.connection import Limits
from pgq_ops.stats import bounded, job_sample
from tests.support.collecting import Collection, collection_of
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from tests.support.database import Database

TIMEOUT = Limits(statement_ms=2_000)
# Reading the queue of a job that was due a day ago, or that was created long before, takes half a minute: as if
# there were millions of dead index entries before it.
SLEEP = """CASE WHEN pg_sleep(CASE WHEN run_at < now() - interval '1 d' OR created_at = '-infinity' THEN 30 ELSE 0 END)::text
    IS NULL THEN NULL ELSE queue END"""
SLOW = FIELD.replace('queue = "queue"', f'queue = {{ sql = """{SLEEP}""" }}')
OLD = "INSERT INTO jobs (queue, status, run_at) VALUES ('a', 'pending', now() - interval '2 d')"


def _table(database: Database) -> None:
    """A table that is not small, with one job that has been ready for 80 seconds."""
    create_field_table(database)
    database.execute("ALTER TABLE jobs ALTER run_at SET NOT NULL")
    database.execute("CREATE INDEX ON jobs (run_at, id) WHERE status = 'pending'")
    database.execute("INSERT INTO jobs (status) SELECT 'done' FROM generate_series(1, 201000)")
    database.execute("INSERT INTO jobs (queue, status, run_at) VALUES ('a', 'pending', now() - interval '80 s')")
    database.execute("VACUUM ANALYZE jobs")


def _age_is_bounded(seen: Collection) -> None:
    assert seen.last is not None
    assert seen.last.failures == ()
    assert seen.value("oldest_ready_exact", "a") == 0
    assert seen.value("oldest_ready_age_seconds", "a") == pytest.approx(80, abs=60)


def test_a_look_that_is_cut_off_goes_by_the_last_watermark_and_says_so(database: Database) -> None:
    _table(database)
    seen = collection_of(database, SLOW, limits=TIMEOUT).healthy()
    assert seen.value("oldest_ready_exact", "a") == 1
    database.execute(OLD)
    seen.collect()
    _age_is_bounded(seen)
    assert seen.value("jobs", "ready", queue="a") == 1
    assert seen.value("jobs_exact", "ready", queue="a") == 0

    # For a minute the plain look is not tried again: it would take the two seconds of the timeout.
    seen.clock.seconds -= 570
    began = time.monotonic()
    seen.collect()
    assert time.monotonic() - began < 1.9
    _age_is_bounded(seen)

    database.execute("DELETE FROM jobs WHERE run_at < now() - interval '1 d'")
    seen.healthy()
    assert seen.value("oldest_ready_exact", "a") == 1


def test_without_a_watermark_a_look_that_is_cut_off_begins_at_twice_the_promise(database: Database) -> None:
    _table(database)
    database.execute(OLD)
    seen = collection_of(database, SLOW + '[job_tables.jobs.slo]\noldest_ready = "2m"\n', limits=TIMEOUT)
    seen.collect()
    _age_is_bounded(seen)


def test_when_even_that_is_cut_off_the_watermark_itself_bounds_the_age(database: Database) -> None:
    _table(database)
    seen = collection_of(database, SLOW, limits=TIMEOUT).healthy()
    database.execute("UPDATE jobs SET created_at = '-infinity' WHERE status = 'pending'")
    database.execute("INSERT INTO jobs (queue, status) VALUES ('b', 'running')")
    seen.collect()
    _age_is_bounded(seen)
    assert seen.value("jobs", "ready", queue="a") is None
    assert seen.value("jobs_exact", "ready", queue="(all)") == 0
    # The other states are as good as ever.
    assert seen.value("jobs", "running", queue="b") == 1
    assert seen.value("jobs_exact", "running", queue="b") == 1


def test_two_dear_looks_one_after_another_are_followed_by_two_minutes_that_begin_at_the_watermark(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Dead rows in the way, as few as keep the look within its timeout: it need not go over them each time."""
    # Ten times as much as for an agent, so that a busy machine makes no look a dear one.
    monkeypatch.setattr("pgq_ops.probes.jobs._DEAR_SECONDS", 0.5)
    _table(database)
    seen = collection_of(database, SLOW.replace("THEN 30", "THEN 0.6"), limits=TIMEOUT)
    seen.collector.clock = lambda: seen.clock.seconds + time.monotonic()
    seen.healthy()
    database.execute(OLD)

    def exact_after(seconds: float) -> float | None:
        seen.clock.seconds += seconds - 600
        return seen.healthy().value("oldest_ready_exact", "a")

    # One that took 0.6 s is made again after a minute.
    assert [exact_after(75) for _ in range(3)] == [1, 1, 0]
    assert [exact_after(35), exact_after(150)] == [0, 1], "a late row is found after no longer"
    database.execute("DELETE FROM jobs WHERE run_at < now() - interval '1 d'")
    assert [exact_after(600) for _ in range(3)] == [1, 1, 1]


def test_a_state_whose_look_is_cut_off_is_estimated_and_the_others_are_counted(database: Database) -> None:
    _table(database)
    database.execute("CREATE INDEX ON jobs (id) WHERE status = 'dead'")
    database.execute("INSERT INTO jobs (queue, status) VALUES ('b', 'running')")
    database.execute("INSERT INTO jobs (queue, status, created_at) VALUES ('c', 'dead', '-infinity')")
    seen = collection_of(database, SLOW, limits=TIMEOUT)

    def looked_at() -> float:
        began = time.monotonic()
        seen.healthy()
        assert seen.value("jobs_exact", "running", queue="b") == 1
        assert seen.value("jobs", "running", queue="b") == 1
        assert seen.value("oldest_ready_exact", "a") == 1
        assert seen.value("jobs", "dead", queue="c") is None
        assert seen.value("jobs_exact", "dead", queue="(all)") == 0
        return time.monotonic() - began

    assert looked_at() > 3.9
    # For a minute the looks are not made together: the whole message would be cut off, and then the one look again.
    seen.clock.seconds -= 570
    assert 1.9 < looked_at() < 3.9

    database.execute("UPDATE jobs SET created_at = now() WHERE status = 'dead'")
    seen.healthy()
    assert seen.value("jobs_exact", "dead", queue="c") == 1


def test_the_watermark_spares_a_look_the_dead_entries_that_a_held_snapshot_keeps(database: Database) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs SET (autovacuum_enabled = off)")
    database.execute("CREATE INDEX ON jobs (run_at, id) WHERE status = 'pending'")
    holder = database.connect(autocommit=False)
    holder.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    holder.execute("SELECT FROM jobs")
    database.execute(
        "INSERT INTO jobs (status, run_at) SELECT 'pending', now() - interval '1 h' + make_interval(secs => i * 0.01)"
        " FROM generate_series(1, 50000) AS i"
    )
    database.execute("UPDATE jobs SET status = 'done'")
    database.execute("VACUUM jobs")
    database.execute("INSERT INTO jobs (status, run_at) VALUES ('pending', now())")
    table = collection_of(database).table
    plain = job_sample.jobs_in(table, "pending", ordered=True)
    marked = job_sample.jobs_in(table, "pending", ordered=True, after_watermark=True)
    watermark = {"watermark": database.value("SELECT extract(epoch FROM now() - interval '1 m')::float8")}
    assert _buffers(database, table, plain, {}) > 20 * _buffers(database, table, marked, watermark)


def _buffers(database: Database, table: Any, look: composing.Composed, parameters: dict[str, Any]) -> int:
    connection: Any = database.connect()
    explain = composing.SQL("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {}").format(look)
    with bounded.transaction(connection, table):
        top = connection.execute(explain, {"limit": job_sample.CAP + 1, **parameters}).fetchone()[0][0]["Plan"]
    return int(top["Shared Hit Blocks"] + top["Shared Read Blocks"])
