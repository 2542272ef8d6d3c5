"""Retrying dead jobs that lie in the job table."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from pgq_ops.job_table.dead_filter import DeadFilter
from pgq_ops.tasks.dead_retry import DEFAULT_RATE, DeadRetry
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table, reap, statuses
from tests.support.retrying import DEAD, count_batches, retry

if TYPE_CHECKING:
    from tests.support.database import Database

ROW = "SELECT status, attempts, locked_by, lease_until, finished_at, last_error FROM jobs WHERE id = %s"


def prepare(database: Database, number: int = 100) -> None:
    create_field_table(database)
    database.execute(DEAD, {"n": number})


@pytest.mark.case("D4")
def test_one_dead_job_comes_back_at_once_as_a_fresh_one(database: Database) -> None:
    prepare(database)
    result = retry(database, wanted=DeadFilter(ids=("7",)))
    assert (result.counts.jobs, result.counts.ids, result.counts.refused) == (1, ("7",), 0)
    [(status, attempts, owner, lease, finished, error)] = database.rows(ROW, [7])
    assert (status, attempts, owner, lease, finished) == ("pending", 0, None, None, None)
    assert error.startswith("boom\n")
    assert "retried by pgq-ops: attempts 5 now count as 0" in error
    assert database.value(
        "SELECT run_at BETWEEN now() - interval '10 s' AND now() + interval '1 s' FROM jobs WHERE id = 7"
    )
    assert statuses(database) == {"dead": 99, "pending": 1}
    claim = "SELECT count(*) FROM jobs WHERE status = 'pending' AND lease_until IS NULL AND run_at <= now() + interval '1 s'"
    assert database.value(claim) == 1


@pytest.mark.case("D4")
def test_50000_dead_jobs_come_back_spread_over_time_and_a_second_run_changes_nothing(database: Database) -> None:
    prepare(database, 50_000)
    count_batches(database)
    begun = database.value("SELECT extract(epoch FROM clock_timestamp())::float8")
    result = retry(database)
    assert (result.counts.jobs, result.counts.refused, result.counts.locked) == (50_000, 0, 0)
    assert statuses(database) == {"pending": 50_000}
    # Spread evenly: as many in each minute, none before its slot, the last when the rate says.
    by_minute = database.rows(
        "SELECT floor((extract(epoch FROM run_at) - %s) / 60)::int, count(*) FROM jobs GROUP BY 1 ORDER BY 1",
        [result.begun_at],
    )
    assert [minute for minute, _ in by_minute] == list(range(17))
    assert all(abs(jobs - 60 * DEFAULT_RATE) <= 1 for _, jobs in by_minute[:-1])
    assert result.begun_at >= begun
    assert 50_000 / DEFAULT_RATE - 1 <= result.spread_seconds <= 50_000 / DEFAULT_RATE
    # At random within its share: in no tenth of the shares are there many more than a tenth of the jobs.
    tenths = database.rows(
        "SELECT floor((extract(epoch FROM run_at) - %s) * %s * 10)::int %% 10, count(*) FROM jobs GROUP BY 1",
        [result.begun_at, DEFAULT_RATE],
    )
    assert len(tenths) == 10
    assert all(4_500 < jobs < 5_500 for _, jobs in tenths)
    assert database.value("SELECT max(number) FROM batches") <= 500
    before = database.rows("SELECT sum(hashtextextended(j::text, 0)) FROM jobs AS j")
    again = retry(database)
    assert (again.counts.jobs, again.counts.refused, again.outcome) == (0, 0, "nothing")
    assert database.rows("SELECT sum(hashtextextended(j::text, 0)) FROM jobs AS j") == before


@pytest.mark.case("D4")
def test_a_job_whose_unique_twin_is_pending_is_told_with_the_reason_and_the_others_come_back(
    database: Database,
) -> None:
    prepare(database)
    database.execute("CREATE UNIQUE INDEX one_pending ON jobs (dedup_key) WHERE status = 'pending'")
    database.execute("INSERT INTO jobs (status, dedup_key) VALUES ('pending', 'a')")
    database.execute("UPDATE jobs SET dedup_key = 'a' WHERE id = 40")
    database.execute("UPDATE jobs SET dedup_key = 'b' WHERE id IN (50, 90)")
    result = retry(database)
    assert (result.counts.jobs, result.counts.refused, result.counts.locked) == (98, 2, 0)
    assert [conflict.id for conflict in result.counts.conflicts] == ["40", "90"]
    assert all("23505" in conflict.reason and "one_pending" in conflict.reason for conflict in result.counts.conflicts)
    assert statuses(database) == {"pending": 99, "dead": 2}
    again = retry(database)
    assert (again.counts.jobs, [conflict.id for conflict in again.counts.conflicts]) == (0, ["40", "90"])


@pytest.mark.case("D4")
def test_a_job_whose_unique_twin_is_not_committed_is_told_as_waiting_and_comes_back_later(database: Database) -> None:
    prepare(database)
    database.execute("CREATE UNIQUE INDEX one_pending ON jobs (dedup_key) WHERE status = 'pending'")
    database.execute("UPDATE jobs SET dedup_key = 'a' WHERE id = 40")
    with database.connect(autocommit=False) as other:
        other.execute("INSERT INTO jobs (status, dedup_key) VALUES ('pending', 'a')")
        result = retry(database)
        assert (result.counts.jobs, result.counts.refused, result.counts.locked) == (99, 0, 1)
        assert result.counts.locked_ids == ("40",)
        other.rollback()
    assert retry(database).counts.ids == ("40",)


def test_jobs_that_somebody_has_locked_are_passed_over_and_told(database: Database) -> None:
    prepare(database)
    count_batches(database)
    with database.connect(autocommit=False) as other:
        other.execute("SELECT FROM jobs WHERE id IN (3, 60) FOR UPDATE")
        result = retry(database)
        assert (result.counts.jobs, result.counts.refused, result.counts.locked) == (98, 0, 2)
        # In one piece: nothing waited for them, or the batch would have been halved.
        assert database.rows("SELECT number FROM batches") == [(98,)]
        assert sorted(result.counts.locked_ids) == ["3", "60"]
        limited = retry(database, limit=1)
        assert (limited.counts.jobs, limited.outcome) == (0, "busy")
    assert retry(database).counts.jobs == 2


def test_a_dead_job_that_somebody_else_finishes_meanwhile_keeps_what_was_committed(database: Database) -> None:
    prepare(database, 2)
    with database.connect(autocommit=False) as other:
        other.execute("UPDATE jobs SET status = 'done' WHERE id = 1")
        result = retry(database)
        assert (result.counts.ids, result.counts.locked_ids) == (("2",), ("1",))
    assert statuses(database) == {"done": 1, "pending": 1}
    assert retry(database).outcome == "nothing"


def test_filters_and_the_limit_bound_what_comes_back(database: Database) -> None:
    prepare(database, 100)
    database.execute("UPDATE jobs SET queue = 'video' WHERE id <= 10")
    database.execute("UPDATE jobs SET last_error = 'Timeout 30%%' WHERE id BETWEEN 5 AND 14", {})
    assert retry(database, wanted=DeadFilter(queue="video", error="timeout 30%")).counts.jobs == 6
    assert retry(database, limit=3).counts.ids == ("1", "2", "3")
    old = retry(database, wanted=DeadFilter(older_than=timedelta(seconds=95)))
    assert old.counts.jobs in (5, 6, 7)  # the clock goes on
    missing = retry(database, wanted=DeadFilter(ids=("20", "999", "020", "x'; DROP TABLE jobs; --")))
    assert (missing.counts.jobs, missing.counts.not_found) == (1, ("999", "x'; DROP TABLE jobs; --"))


@pytest.mark.parametrize("place", ["queue", "error", "id"])
def test_sql_in_a_filter_is_only_a_text(database: Database, place: str) -> None:
    prepare(database, 3)
    hostile = "x' OR true); DELETE FROM jobs; -- %s %(n)s {} \\"
    wanted = {"queue": DeadFilter(queue=hostile), "error": DeadFilter(error=hostile), "id": DeadFilter(ids=(hostile,))}
    assert retry(database, wanted=wanted[place]).counts.jobs == 0
    if place != "id":
        column = {"queue": "queue", "error": "last_error"}[place]
        database.execute(f"UPDATE jobs SET {column} = %s WHERE id = 2", [hostile])
        assert retry(database, wanted=wanted[place]).counts.ids == ("2",)
    assert database.value("SELECT count(*) FROM jobs") == 3


def test_the_plan_reads_only_and_says_until_when_the_jobs_come_back(database: Database) -> None:
    prepare(database, 200)
    bound = bind_toml(database, FIELD, read_only=True)
    result = DeadRetry(rate=10.0, limit=150).plan(bound.connection, bound.table)
    document = result.as_json()
    assert document["dry_run"] is True
    assert (document["retried"], document["conflicts"], document["locked"]) == (150, None, None)
    assert document["spread_seconds"] == pytest.approx(15.0)
    assert document["jobs"] == [str(job) for job in range(1, 11)]
    done = DeadRetry(rate=10.0, limit=150).run(bind_toml(database, FIELD).connection, bound.table, lambda: True)
    assert done.as_json().keys() | {"dry_run"} == document.keys()
    assert (done.counts.jobs, done.counts.ids[:10]) == (result.counts.jobs, result.counts.ids)
    assert 14.0 <= done.spread_seconds <= 15.0


def test_a_guard_that_says_no_ends_the_retry_between_batches_with_a_true_report(database: Database) -> None:
    prepare(database, 1_200)
    answers = iter([True, True, True, False, False, False])
    result = retry(database, guard=lambda: next(answers))
    assert result.counts.jobs == 1_000
    assert statuses(database) == {"pending": 1_000, "dead": 200}


@pytest.mark.parametrize("rate", [0.0, 1e9])
def test_all_may_come_back_at_once_where_that_is_asked_for(database: Database, rate: float) -> None:
    prepare(database, 1_000)
    result = retry(database, rate=rate)
    assert result.spread_seconds < 0.001
    assert database.value("SELECT count(*) FROM jobs WHERE run_at <= now()") == 1_000


@pytest.mark.parametrize(
    ("extra", "cap", "made"), [(None, None, 0), (1, None, 4), (2, 10, 8), (5, None, 0), (99, None, 0), (1, 1, 0)]
)
def test_extra_attempts_leave_that_many_runs_by_the_jobs_own_cap(
    database: Database, extra: int | None, cap: int | None, made: int
) -> None:
    prepare(database, 1)
    database.execute("UPDATE jobs SET max_attempts = %s", [cap])
    retry(database, extra_attempts=extra)
    assert database.value("SELECT attempts FROM jobs") == made
    runs = 0
    while statuses(database) == {"pending": 1}:
        runs += 1
        database.execute(
            "UPDATE jobs SET status = 'running', attempts = attempts + 1, lease_until = now() - interval '1 s'"
        )
        reap(database)
    assert runs == min((cap or 5), extra or 99)


@pytest.mark.parametrize(("extra", "runs"), [(None, 5), (2, 2)])
def test_attempts_that_the_reaper_counts_begin_afresh_too(database: Database, extra: int | None, runs: int) -> None:
    prepare(database, 1)
    toml = FIELD + 'attempts_counted_at = "reap"\n'
    retry(database, toml, extra_attempts=extra)
    for run in range(1, runs + 1):
        assert statuses(database) == {"pending": 1}, run
        database.execute("UPDATE jobs SET status = 'running', lease_until = now() - interval '1 s'")
        reap(database, toml)
    assert statuses(database) == {"dead": 1}


def test_a_queues_own_cap_counts_for_its_jobs(database: Database) -> None:
    prepare(database, 2)
    database.execute("UPDATE jobs SET queue = 'video' WHERE id = 2")
    retry(database, FIELD + "[job_tables.jobs.queues.video]\nreaper.max_attempts = 20\n", extra_attempts=1)
    assert database.rows("SELECT id, attempts FROM jobs ORDER BY id") == [(1, 4), (2, 19)]


def test_attempts_do_not_overflow_their_type(database: Database) -> None:
    prepare(database, 1)
    database.execute("ALTER TABLE jobs ALTER attempts TYPE smallint; UPDATE jobs SET max_attempts = 100000")
    assert retry(database, extra_attempts=1).counts.jobs == 1
    assert database.value("SELECT attempts FROM jobs") == 32_767


def test_a_trigger_that_discards_one_change_is_noticed(database: Database) -> None:
    prepare(database, 20)
    database.execute("""
        CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF new.id = 5 THEN RETURN NULL; END IF;
           IF new.id = 6 THEN RAISE EXCEPTION 'not this one'; END IF; RETURN new; END $$
    """)
    database.execute("CREATE TRIGGER swallow BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION swallow()")
    result = retry(database)
    reasons = {conflict.id: conflict.reason for conflict in result.counts.conflicts}
    assert (result.counts.jobs, set(reasons)) == (18, {"5", "6"})
    assert "discarded" in reasons["5"]
    assert "not this one" in reasons["6"]


def test_a_deferred_constraint_fails_in_its_batch_and_not_at_the_commit(database: Database) -> None:
    prepare(database, 20)
    database.execute("""
        ALTER TABLE jobs ADD COLUMN slot text;
        ALTER TABLE jobs ADD CONSTRAINT slots UNIQUE (slot) DEFERRABLE INITIALLY DEFERRED;
        CREATE FUNCTION take_slot() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF new.id IN (4, 9) THEN new.slot := 'taken'; END IF; RETURN new; END $$;
        CREATE TRIGGER take_slot BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION take_slot();
    """)
    result = retry(database)
    assert (result.counts.jobs, [one.id for one in result.counts.conflicts]) == (19, ["9"])


def test_a_locked_table_is_told_as_busy_and_nothing_waits(database: Database) -> None:
    prepare(database, 600)
    bound = bind_toml(database, FIELD)
    with database.connect(autocommit=False) as other:
        other.execute("LOCK TABLE jobs IN SHARE MODE")
        result = DeadRetry().run(bound.connection, bound.table, lambda: True)
        assert (result.counts.jobs, result.counts.busy, result.outcome) == (0, ("public.jobs",), "busy")
