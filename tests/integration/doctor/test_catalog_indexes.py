"""The points about the table's indexes, and the statistics by which they are chosen."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import psycopg
import pytest

from pgq_ops.checks.finding import Severity
from pgq_ops.checks.production import (
    duplicate_indexes,
    invalid_indexes,
    stale_statistics,
    unused_indexes,
)
from pgq_ops.stats import index_states
from tests.support.agent import wait_until
from tests.support.doctor_points import YEARS, Doctor, counted, doctor, remedies

if TYPE_CHECKING:
    from tests.support.database import Database


def insert(database: Database, number: int) -> None:
    counted(
        database,
        f"INSERT INTO jobs (status) SELECT 'done' FROM generate_series(1, {number})",
        f"SELECT pg_stat_get_mod_since_analyze('jobs'::regclass) >= {number}",
    )


def test_an_index_whose_making_failed_is_found_and_the_remedy_removes_or_makes_it(jobs: Database) -> None:
    jobs.execute("INSERT INTO jobs (queue) VALUES ('a'), ('a')")
    with pytest.raises(psycopg.errors.UniqueViolation):
        jobs.execute("CREATE UNIQUE INDEX CONCURRENTLY broken ON jobs (queue)")
    finding = doctor(jobs).finding(invalid_indexes)
    assert finding.evidence == {"indexes": ["public.broken"]}
    rebuild, drop = remedies(finding)
    jobs.execute("UPDATE jobs SET queue = id::text")
    jobs.execute(rebuild)
    assert "3 indexes" in doctor(jobs).passed(invalid_indexes)
    jobs.execute(drop)
    assert "2 indexes" in doctor(jobs).passed(invalid_indexes)


def test_what_an_interrupted_reindex_left_is_only_to_be_dropped(jobs: Database) -> None:
    jobs.execute("INSERT INTO jobs DEFAULT VALUES")
    jobs.execute("CREATE TABLE stop (at int)")
    jobs.execute("CREATE FUNCTION once(bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT $1'")
    jobs.execute("CREATE INDEX fragile ON jobs (once(id))")
    jobs.execute("CREATE OR REPLACE FUNCTION once(bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS 'SELECT $1 / 0'")
    with pytest.raises(psycopg.errors.DivisionByZero):
        jobs.execute("REINDEX INDEX CONCURRENTLY fragile")
    finding = doctor(jobs).finding(invalid_indexes)
    assert finding.evidence == {"indexes": ["public.fragile_ccnew"]}
    [drop] = remedies(finding)
    jobs.execute(drop)
    assert doctor(jobs).passed(invalid_indexes)


def test_an_index_that_is_being_made_is_no_finding(jobs: Database) -> None:
    blocking = jobs.connect(autocommit=False)
    blocking.execute("INSERT INTO jobs DEFAULT VALUES")
    making = jobs.connect()
    making.pgconn.send_query(b"CREATE INDEX CONCURRENTLY slow ON jobs (queue)")
    wait_until(lambda: jobs.rows("SELECT FROM pg_stat_progress_create_index WHERE index_relid <> 0"), 10)
    assert "1 being made" in doctor(jobs).passed(invalid_indexes)
    blocking.rollback()
    while making.pgconn.get_result() is not None:
        pass
    assert "3 indexes" in doctor(jobs).passed(invalid_indexes)


def test_an_index_of_a_partitioned_table_without_all_its_parts_is_found(partitioned: Database) -> None:
    partitioned.execute("CREATE INDEX whole ON jobs (queue)")
    partitioned.execute("CREATE INDEX part ON ONLY jobs (id)")
    finding = doctor(partitioned).finding(invalid_indexes)
    assert finding.evidence == {"indexes": ["public.part"]}
    [drop] = remedies(finding)
    partitioned.execute(drop)
    assert "1 index" in doctor(partitioned).passed(invalid_indexes)


DUPLICATES = [
    ("(queue)", "(queue)", True),
    ("(queue) WHERE status = 'pending'", "(queue) WHERE status = 'pending'", True),
    ("(queue) WHERE status = 'pending'", "(queue) WHERE status = 'running'", False),
    ("(queue)", "(queue) WHERE status = 'pending'", False),
    ("(queue)", "(queue DESC)", False),
    ("(queue)", "(queue text_pattern_ops)", False),
    ("(queue)", "USING hash (queue)", False),
    ("(queue, id)", "(id, queue)", False),
    ("(queue)", "(queue) INCLUDE (id)", False),
    ("(lower(queue))", "(lower(queue))", True),
    ("(lower(queue))", "(upper(queue))", False),
]


@pytest.mark.parametrize(("one", "other", "duplicate"), DUPLICATES)
def test_two_indexes_that_serve_the_same_are_found(jobs: Database, one: str, other: str, *, duplicate: bool) -> None:
    jobs.execute(f"CREATE INDEX a_first ON jobs {one}")
    jobs.execute(f"CREATE INDEX b_second ON jobs {other}")
    if not duplicate:
        assert "4 indexes, all different" in doctor(jobs).passed(duplicate_indexes)
        return
    finding = doctor(jobs).finding(duplicate_indexes)
    assert finding.evidence == {"indexes": {"public.b_second": "public.a_first"}}
    [statement] = remedies(finding)
    jobs.execute(statement)
    assert doctor(jobs).passed(duplicate_indexes)


def test_of_two_indexes_the_one_behind_the_primary_key_is_kept(jobs: Database) -> None:
    jobs.execute("CREATE UNIQUE INDEX a_copy ON jobs (id)")
    assert doctor(jobs).finding(duplicate_indexes).evidence == {"indexes": {"public.a_copy": "public.jobs_pkey"}}


def test_parts_of_an_index_on_partitions_are_no_duplicates_of_it(partitioned: Database) -> None:
    partitioned.execute("CREATE INDEX whole ON jobs (queue)")
    assert "1 index, all different" in doctor(partitioned).passed(duplicate_indexes)
    partitioned.execute("CREATE INDEX own ON jobs_later (queue)")
    partitioned.execute("CREATE INDEX twice ON jobs_later (queue)")
    assert doctor(partitioned).finding(duplicate_indexes).evidence == {"indexes": {"public.twice": "public.own"}}


def test_an_index_that_was_not_read_in_a_week_of_work_is_told(jobs: Database) -> None:
    """Nobody waits a week: only for how long the counters have counted is put in, both sides of the limit."""
    jobs.execute("CREATE INDEX unread ON jobs (locked_by)")
    jobs.execute("CREATE INDEX read_once ON jobs (queue)")
    jobs.execute("CREATE UNIQUE INDEX needed_though_unread ON jobs (dedup_key)")
    jobs.execute("ALTER TABLE jobs ADD CONSTRAINT needed_too EXCLUDE USING btree (last_error WITH =)")
    reads = "DO $$ BEGIN SET LOCAL enable_seqscan = off; PERFORM 1 FROM jobs WHERE queue = 'q'; FOR i IN 1..{} LOOP"
    reads += " PERFORM 1 FROM jobs WHERE id = i; END LOOP; PERFORM 1 FROM jobs WHERE status = 'running'; END $$"
    scans = "SELECT pg_stat_get_numscans('jobs_pkey'::regclass) >= {}"
    counted(jobs, reads.format(999), scans.format(999))

    def after(seconds: float | None) -> Doctor:
        one = doctor(jobs)
        states = one.examination.fact(index_states.read)
        assert states.counting_seconds is not None
        assert 0 <= states.counting_seconds < 3600
        one.examination._facts[index_states.read] = replace(states, counting_seconds=seconds)
        return one

    week = 7 * 86_400.0
    assert "1,000 times" in after(week).unknown(unused_indexes)
    counted(jobs, reads.format(1), scans.format(1_000))
    finding = after(week).finding(unused_indexes)
    assert finding.severity is Severity.INFO
    assert finding.evidence["indexes"] == ["public.unread"]
    assert "a week tells more" in after(week - 1).unknown(unused_indexes)
    assert "an unknown time" in after(None).unknown(unused_indexes)
    [statement] = remedies(finding)
    jobs.execute(statement)
    assert "2 indexes" in after(week).passed(unused_indexes)


def test_statistics_that_are_far_behind_are_found_and_the_remedy_refreshes_them(jobs: Database) -> None:
    jobs.execute("ALTER TABLE jobs SET (autovacuum_enabled = off)")
    insert(jobs, 10_000)
    assert "10,000 changes" in doctor(jobs).passed(stale_statistics)
    insert(jobs, 10_001)
    finding = doctor(jobs).finding(stale_statistics)
    assert finding.severity is Severity.WARNING
    assert finding.evidence == {"changed": {"public.jobs": 10_001 + 10_000}}
    [statement] = remedies(finding)
    counted(jobs, statement, "SELECT pg_stat_get_analyze_count('jobs'::regclass) = 1")
    assert "0 changes since ANALYZE" in doctor(jobs).passed(stale_statistics)


def test_a_partitioned_table_that_nobody_analyzed_is_told(partitioned: Database) -> None:
    partitioned.execute("INSERT INTO jobs (status) SELECT 'done' FROM generate_series(1, 10000)")
    analyzed = "SELECT pg_stat_get_analyze_count('jobs_later'::regclass) = {}"
    counted(partitioned, "ANALYZE jobs_later", analyzed.format(1))
    assert doctor(partitioned).passed(stale_statistics)
    partitioned.execute("INSERT INTO jobs (status) VALUES ('done')")
    counted(partitioned, "ANALYZE jobs_later", analyzed.format(2))
    finding = doctor(partitioned).finding(stale_statistics)
    assert finding.severity is Severity.INFO
    assert finding.evidence == {"tables": ["public.jobs"]}
    [statement] = remedies(finding)
    counts = ", ".join(f"pg_stat_get_analyze_count('{name}'::regclass)" for name in YEARS)
    counted(partitioned, statement, f"SELECT ({counts}) = (1, 1, 3)")
    assert doctor(partitioned).passed(stale_statistics)


def test_counters_that_were_lost_in_a_crash_tell_nothing(jobs: Database) -> None:
    look = (one := doctor(jobs)).examination.look
    assert look.health is not None
    lost = replace(look, health=replace(look.health, statistics_lost=True))
    assert "crash" in Doctor(replace(one.examination, look=lost)).unknown(stale_statistics)
