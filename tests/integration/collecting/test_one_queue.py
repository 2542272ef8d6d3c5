"""A table without queues: what an index answers alone is asked of it alone, and means the same."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from psycopg import sql as composing

from pgq_ops.stats import bounded, index_support, job_count, job_sample
from pgq_ops.stats.index_support import Question
from tests.support.article_tables import LEASE_TABLE
from tests.support.binding import LEASE, bind_toml
from tests.support.collecting import Collection, collection_of
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from pgq_ops.stats.index_support import IndexSupport
    from tests.support.database import Database

COUNTED = (Question.PENDING_IN_ORDER, Question.RUNNING, Question.DEAD)
HISTORY = "INSERT INTO demo_queue_jobs (payload, status) SELECT '{{}}', 'done' FROM generate_series(1, 201000)"
INSERT = """
    INSERT INTO demo_queue_jobs (payload, status, available_at, created_at)
    SELECT '{{}}', %(status)s, {available_at}, {created_at} FROM generate_series(1, %(jobs)s) AS i
"""


def _table(database: Database) -> None:
    """The article's table with the indexes that are advised, not small."""
    database.execute(LEASE_TABLE)
    database.execute("CREATE INDEX ON demo_queue_jobs (id) WHERE status = 'failed'")
    database.execute("ALTER TABLE demo_queue_jobs SET (autovacuum_enabled = off)")
    database.execute(HISTORY.format())


def _insert(database: Database, status: str, jobs: int, available_at: str = "now()", created_at: str = "now()") -> None:
    insert = INSERT.format(available_at=available_at, created_at=created_at)
    database.execute(insert, {"status": status, "jobs": jobs})


def _settle(database: Database) -> None:
    database.execute("VACUUM ANALYZE demo_queue_jobs")


def _support(database: Database, toml: str = LEASE) -> IndexSupport:
    bound = bind_toml(database, toml)
    return index_support.read(bound.connection, bound.table)


def _buffers(database: Database, seen: Collection, look: composing.Composable, **parameters: Any) -> int:
    connection: Any = database.connect()
    explain = composing.SQL("EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {}").format(look)
    with bounded.transaction(connection, seen.table):
        top = connection.execute(explain, {"limit": job_sample.CAP + 1, **parameters}).fetchone()[0][0]["Plan"]
    return int(top["Shared Hit Blocks"] + top["Shared Read Blocks"])


@pytest.mark.parametrize("vacuumed", [True, False])
def test_the_numbers_are_the_same_whether_or_not_the_table_was_vacuumed(
    database: Database,
    vacuumed: bool,  # noqa: FBT001
) -> None:
    _table(database)
    _settle(database)
    _insert(database, "pending", 70, "now() - make_interval(secs => i)")
    _insert(database, "pending", 30, "now() + make_interval(hours => i)")
    _insert(database, "running", 20)
    _insert(database, "failed", 10, created_at="now() - make_interval(hours => i)")
    if vacuumed:
        _settle(database)
    seen = collection_of(database, LEASE).healthy()
    jobs = seen.jobs("default")
    assert jobs == {"ready": 70, "scheduled": 30, "running": 20, "dead": 10}
    assert {seen.value("jobs_exact", state, queue="default") for state in jobs} == {1}
    assert seen.value("oldest_ready_age_seconds", "default") == pytest.approx(70, abs=30)
    assert seen.value("oldest_ready_exact", "default") == 1
    assert seen.value("oldest_dead_age_seconds", "default") == pytest.approx(36_000, abs=60)


def test_ten_thousand_jobs_are_counted_without_reading_the_table(database: Database) -> None:
    _table(database)
    _insert(database, "pending", 6_000, "now() - make_interval(secs => (i * 7919) %% 6000)")
    _insert(database, "pending", 6_000, "now() + make_interval(secs => 60 + (i * 7919) %% 6000)")
    _insert(database, "running", 3_000)
    _insert(database, "failed", 12_000)
    _settle(database)
    seen = collection_of(database, LEASE).healthy()
    support = _support(database)
    counting = {question: support.serving[question].alone for question in COUNTED}
    for question, look in counting.items():
        assert look is not None, question
        assert _buffers(database, seen, look) < 100
    # The rows of pending jobs lie about in the table.
    assert _buffers(database, seen, support.serving[Question.PENDING_IN_ORDER].look) > 1_000


@pytest.mark.parametrize(("jobs", "exact"), [(10_000, 1), (10_001, 0)])
def test_beyond_ten_thousand_dead_jobs_number_and_age_are_estimates(database: Database, jobs: int, exact: int) -> None:
    _table(database)
    # The oldest one has the highest key.
    _insert(
        database, "failed", jobs, created_at="now() - make_interval(hours => CASE i WHEN %(jobs)s THEN 9 ELSE 1 END)"
    )
    _settle(database)
    seen = collection_of(database, LEASE).healthy()
    assert seen.value("jobs_exact", "dead", queue="default") == exact
    assert seen.value("jobs", "dead", queue="default") == pytest.approx(jobs, rel=0.15)
    age = seen.value("oldest_dead_age_seconds", "default")
    assert age == pytest.approx(3_600 * (9 if exact else 1), abs=60)


@pytest.mark.parametrize(("ready", "exact"), [(9_999, 1), (10_000, 1), (10_001, 0)])
def test_ready_jobs_are_exact_up_to_the_cap_and_scheduled_ones_as_far_as_it_leaves_room(
    database: Database, ready: int, exact: int
) -> None:
    _table(database)
    _insert(database, "pending", ready, "now() - make_interval(secs => i * 0.1)")
    _insert(database, "pending", 5_000, "now() + make_interval(hours => i)")
    _settle(database)
    seen = collection_of(database, LEASE).healthy()
    assert seen.value("jobs_exact", "ready", queue="default") == exact
    assert seen.value("jobs", "ready", queue="default") == pytest.approx(ready if exact else ready + 5_000, rel=0.1)
    assert seen.value("jobs_exact", "scheduled", queue="default") == 0
    assert seen.value("oldest_ready_exact", "default") == 1
    assert seen.value("oldest_ready_age_seconds", "default") == pytest.approx(ready / 10, abs=30)


@pytest.mark.case("R8")
def test_a_job_that_has_been_ready_for_ever_is_as_old_as_its_row(database: Database) -> None:
    _table(database)
    _insert(database, "pending", 3, "'-infinity'", "now() - interval '2 h'")
    _insert(database, "pending", 2, "now() - interval '1 m'")
    _insert(database, "pending", 1, "'infinity'")
    _settle(database)
    seen = collection_of(database, LEASE).healthy()
    assert seen.jobs("default") == {"ready": 5, "scheduled": 1}
    assert seen.value("oldest_ready_age_seconds", "default") == pytest.approx(7_200, abs=60)


def test_where_a_column_of_the_row_is_needed_the_row_is_read(database: Database) -> None:
    create_field_table(database)
    database.execute("CREATE INDEX ON jobs (run_at, id) WHERE status = 'pending'")
    database.execute(
        "INSERT INTO jobs (status) SELECT s FROM unnest(ARRAY['pending', 'running', 'done']) AS s, generate_series(1, 5000)"
    )
    database.execute("VACUUM ANALYZE jobs")
    with_queues = _support(database, FIELD)
    assert {serving.alone for serving in with_queues.serving.values()} == {None}
    # A job without run_at has been waiting since it was created.
    toml = "\n".join(line for line in FIELD.splitlines() if not line.startswith("queue"))
    without = _support(database, toml)
    assert without.serving[Question.PENDING_IN_ORDER].alone is None
    assert without.serving[Question.RUNNING].alone is not None
    database.execute("ALTER TABLE jobs ALTER run_at SET NOT NULL")
    assert _support(database, toml).serving[Question.PENDING_IN_ORDER].alone is not None


def test_an_index_that_gives_the_order_over_all_jobs_ever_does_not_count(database: Database) -> None:
    _table(database)
    _insert(database, "pending", 5)
    database.execute("DROP INDEX demo_queue_jobs_pending; CREATE INDEX ON demo_queue_jobs (available_at, status)")
    _settle(database)
    support = _support(database)
    assert Question.PENDING_IN_ORDER not in support.serving
    assert Question.PENDING not in support.serving


def test_the_watermark_spares_the_count_the_dead_entries_that_a_held_snapshot_keeps(database: Database) -> None:
    _table(database)
    holder = database.connect(autocommit=False)
    holder.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
    holder.execute("SELECT FROM demo_queue_jobs LIMIT 1")
    _insert(database, "pending", 50_000, "now() - interval '1 h' + make_interval(secs => i * 0.01)")
    database.execute("UPDATE demo_queue_jobs SET status = 'done' WHERE status = 'pending'")
    _settle(database)
    _insert(database, "pending", 1)
    seen = collection_of(database, LEASE).healthy()
    plain, marked = job_count.pending(seen.table), job_count.pending(seen.table, after_watermark=True)
    assert plain is not None
    assert marked is not None
    watermark = database.value("SELECT extract(epoch FROM now() - interval '1 m')::float8")
    assert _buffers(database, seen, plain) > 20 * _buffers(database, seen, marked, watermark=watermark)
    assert seen.jobs("default")["ready"] == 1


def test_a_crowd_is_looked_at_briefly_for_a_minute_and_counted_again_when_it_is_gone(database: Database) -> None:
    _table(database)
    _insert(database, "pending", 12_000, "now() - make_interval(secs => 60 + i)")
    _insert(database, "failed", 12_000)
    _settle(database)
    seen = collection_of(database, LEASE).healthy()
    memory = seen.collector._tables["emails"].memory
    assert memory.crowded == {"pending", "dead"}
    estimated = seen.jobs("default")
    assert all(10_000 < jobs < 15_000 for jobs in estimated.values())

    def look() -> dict[str, float]:
        seen.collector.collect(seen.table)
        return seen.jobs("default")

    seen.clock.seconds += 11
    assert look() == estimated
    assert seen.value("jobs_exact", "ready", queue="default") == 0
    assert 12_000 < (seen.value("oldest_ready_age_seconds", queue="default") or 0) < 12_200
    assert seen.value("oldest_ready_exact", queue="default") == 1
    # 1,000 are the most that a brief look counts: of no more than these it knows all.
    database.execute("DELETE FROM demo_queue_jobs WHERE status = 'failed' AND id % 13 <> 0")
    database.execute("DELETE FROM demo_queue_jobs WHERE status = 'pending' AND id % 6 <> 0")
    seen.clock.seconds += 11
    failed = database.value("SELECT count(*) FROM demo_queue_jobs WHERE status = 'failed'")
    assert look() == {"ready": estimated["ready"], "dead": failed}
    assert seen.value("jobs_exact", "dead", queue="default") == 1
    assert memory.crowded == {"pending"}
    # More than that and less than the cap: known within a minute.
    seen.clock.seconds += 40
    assert look()["ready"] == database.value("SELECT count(*) FROM demo_queue_jobs WHERE status = 'pending'") < 10_000
    assert memory.crowded == frozenset()


def test_a_crowd_of_scheduled_jobs_is_no_reason_to_look_briefly_at_ready_ones(database: Database) -> None:
    _table(database)
    _insert(database, "pending", 3_000, "now() - make_interval(secs => i)")
    _insert(database, "pending", 12_000, "now() + interval '1 day'")
    _settle(database)
    seen = collection_of(database, LEASE).healthy()
    assert seen.jobs("default")["ready"] == 3_000
    seen.clock.seconds += 11
    seen.collector.collect(seen.table)
    assert seen.jobs("default")["ready"] == 3_000
    assert seen.value("jobs_exact", "ready", queue="default") == 1
