"""Rows, thresholds, vacuums, sizes and ages of real tables."""

from __future__ import annotations

import time
from threading import Thread
from typing import TYPE_CHECKING, Any

import psycopg
import pytest

from tests.support.agent import wait_until
from tests.support.table_health import COLUMNS, health, leaf, probe, told, vacuum, write

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.support.database import Database
    from tests.support.roles import Roles

PLAIN = f"CREATE TABLE jobs ({COLUMNS}, note text, PRIMARY KEY (id)) WITH (autovacuum_enabled = off, fillfactor = 50)"
PARTS = f"""
    CREATE TABLE jobs ({COLUMNS}) PARTITION BY RANGE (id);
    CREATE TABLE jobs_1 PARTITION OF jobs FOR VALUES FROM (0) TO (1000);
    CREATE TABLE jobs_2 PARTITION OF jobs FOR VALUES FROM (1000) TO (2000) PARTITION BY RANGE (id);
    CREATE TABLE jobs_2a PARTITION OF jobs_2 FOR VALUES FROM (1000) TO (1500)
        WITH (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 500);
    CREATE INDEX ON jobs (id);
"""
GAUGES = ("live_tuples", "dead_tuples", "vacuum_threshold_tuples", "vacuum_due_ratio", "table_bytes", "index_bytes")


def test_the_numbers_are_those_of_the_database(database: Database) -> None:
    database.execute(PLAIN)
    seen = probe(database)
    health(seen)
    write(database, "INSERT INTO jobs SELECT i, 'pending', now() FROM generate_series(1, 1000) AS i")
    write(database, "DELETE FROM jobs WHERE id > 950")
    write(database, "UPDATE jobs SET attempts = 1 WHERE id <= 100")
    told(database, 1_150)
    found = leaf(seen)
    assert (found.live_rows, found.dead_rows, found.vacuum_threshold) == (950, 150, 50)
    counted = {name: seen.value(f"{name}_rows_total") for name in ("inserted", "updated", "deleted", "hot_updated")}
    hot = database.value("SELECT pg_stat_get_tuples_hot_updated('jobs'::regclass)")
    assert counted == {"inserted": 1000, "updated": 100, "deleted": 50, "hot_updated": hot}
    assert hot > 0
    assert seen.value("dead_tuples") == 150
    assert seen.value("vacuum_due_ratio") == 3
    assert seen.value("last_vacuum_timestamp_seconds") is None
    assert seen.value("vacuum_running") == 0

    vacuum(database)
    found = leaf(seen)
    assert (found.live_rows, found.dead_rows, found.vacuum_threshold) == (950, 0, 50 + 0.2 * 950)
    assert found.last_vacuum == pytest.approx(database.value("SELECT extract(epoch FROM now())::float8"), abs=30)
    assert found.last_autovacuum is None
    assert seen.value("last_vacuum_timestamp_seconds") == found.last_vacuum
    assert found.outcome is not None
    assert (found.outcome.removed_rows, found.outcome.left_rows) == (150, 0)


def test_the_threshold_is_exported_as_a_whole_number_of_rows(database: Database) -> None:
    database.execute(PLAIN)
    write(database, "INSERT INTO jobs SELECT i, 'pending', now() FROM generate_series(1, 951) AS i")
    vacuum(database)
    seen = probe(database)
    health(seen)
    assert seen.value("vacuum_threshold_tuples") == 240


def test_sizes_are_the_whole_table_s_and_not_known_before_a_vacuum_or_an_analyze(database: Database) -> None:
    database.execute(PLAIN)
    database.execute("ALTER TABLE jobs ALTER note SET STORAGE EXTERNAL; CREATE INDEX ON jobs (status)")
    seen = probe(database)
    assert health(seen).table_bytes == 0
    write(database, "INSERT INTO jobs (id, note) SELECT i, repeat('x', 5000) FROM generate_series(1, 400) AS i")
    told(database, 400)
    health(seen)
    assert [seen.value(name) for name in ("table_bytes", "index_bytes")] == [None, None]
    write(database, "DELETE FROM jobs WHERE id % 2 = 0")
    told(database, 600)
    vacuum(database)
    health(seen)
    tables = "SELECT oid FROM pg_class WHERE relname = 'jobs' UNION SELECT reltoastrelid FROM pg_class WHERE relname = 'jobs'"
    size = database.value(f"SELECT sum(pg_relation_size(oid))::float8 FROM ({tables}) AS t")
    assert seen.value("table_bytes") == size > 1_000_000
    assert seen.value("index_bytes") == database.value(f"SELECT sum(pg_indexes_size(oid))::float8 FROM ({tables}) AS t")


def test_partitions_are_told_apart_and_summed(database: Database) -> None:
    database.execute(PARTS)
    seen = probe(database)
    assert [one.name for one in health(seen).leaves] == ["jobs_1", "jobs_2a"]
    write(database, "INSERT INTO jobs SELECT i, 'pending' FROM generate_series(0, 1499) AS i")
    told(database, 1_500)
    vacuum(database)
    write(database, "UPDATE jobs SET attempts = 1 WHERE id % 2 = 0 AND id < 1300")
    told(database, 1_500 + 650)
    seen_health = health(seen)
    first, second = seen_health.leaves
    assert (first.live_rows, first.dead_rows, first.vacuum_threshold) == (1_000, 500, 250)
    assert (second.live_rows, second.dead_rows, second.vacuum_threshold) == (500, 150, 500)
    assert [seen.value(name) for name in GAUGES[:4]] == [1_500, 650, 750, 2]
    assert seen.value("table_bytes") == first.table_bytes + second.table_bytes > 0
    assert seen.value("index_bytes") == first.index_bytes + second.index_bytes > 0
    assert seen.value("updated_rows_total") == 650
    assert seen.value("last_vacuum_timestamp_seconds") == max(first.last_vacuum or 0, second.last_vacuum or 0) > 0

    database.execute("ALTER TABLE jobs DETACH PARTITION jobs_1")
    assert [one.name for one in health(seen).leaves] == ["jobs_2a"]
    assert seen.value("dead_tuples") == 150
    assert seen.value("updated_rows_total") == 650


def test_a_partition_that_is_being_detached_counts_no_more(database: Database) -> None:
    database.execute(PARTS)
    seen = probe(database)
    reader = database.connect(autocommit=False)
    reader.execute("SELECT FROM jobs")
    impatient = database.connect(options="-c statement_timeout=100")
    with pytest.raises(psycopg.errors.QueryCanceled):
        impatient.execute("ALTER TABLE jobs DETACH PARTITION jobs_1 CONCURRENTLY")
    assert database.value("SELECT inhdetachpending FROM pg_inherits WHERE inhrelid = 'jobs_1'::regclass")
    assert [one.name for one in health(seen).leaves] == ["jobs_2a"]


def test_a_partitioned_table_without_partitions_has_no_rows_and_no_age(database: Database) -> None:
    database.execute(PARTS.split(";", maxsplit=1)[0])
    seen = probe(database)
    assert health(seen).leaves == ()
    assert [seen.value(name) for name in (*GAUGES, "relfrozenxid_age_xids")] == [0, 0, 0, 0, 0, 0, None]


def test_a_partition_with_a_past_makes_no_step_in_the_counters(database: Database) -> None:
    database.execute(PARTS)
    seen = probe(database)
    health(seen)
    write(database, "INSERT INTO jobs SELECT i FROM generate_series(1, 10) AS i")
    database.execute(f"CREATE TABLE jobs_3 ({COLUMNS})")
    write(database, "INSERT INTO jobs_3 SELECT i FROM generate_series(5000, 5999) AS i")
    told(database, 1_010)
    health(seen)
    assert seen.value("inserted_rows_total") == 10
    database.execute("ALTER TABLE jobs ATTACH PARTITION jobs_3 FOR VALUES FROM (5000) TO (6000)")
    health(seen)
    write(database, "INSERT INTO jobs SELECT i FROM generate_series(5000, 5004) AS i")
    told(database, 1_015)
    health(seen)
    assert seen.value("inserted_rows_total") == 15
    assert seen.value("live_tuples") == 1_015


def test_the_highest_threshold_is_the_server_s_or_the_table_s(database: Database, pg_major: int) -> None:
    if pg_major < 18:
        pytest.skip("autovacuum_vacuum_max_threshold came with PostgreSQL 18")
    database.execute(PLAIN)
    database.execute("UPDATE pg_class SET reltuples = 1e9, relpages = 1e7 WHERE oid = 'jobs'::regclass")
    seen = probe(database)
    assert leaf(seen).vacuum_threshold == 100_000_000
    database.execute("ALTER TABLE jobs SET (autovacuum_vacuum_max_threshold = 7000)")
    assert leaf(seen).vacuum_threshold == 7_000
    database.execute("ALTER TABLE jobs SET (autovacuum_vacuum_max_threshold = -1)")
    assert leaf(seen).vacuum_threshold == 200_000_050


def test_the_age_is_that_of_the_older_of_table_and_toast_table(database: Database) -> None:
    database.execute(PLAIN)
    seen = probe(database)
    age = "SELECT age(relfrozenxid) FROM pg_class WHERE oid = 'jobs'::regclass"
    before = leaf(seen).xid_age
    for _ in range(5):
        database.execute("SELECT pg_current_xact_id()")
    assert leaf(seen).xid_age >= before + 5
    toast = "(SELECT reltoastrelid FROM pg_class WHERE oid = 'jobs'::regclass)"
    database.execute("VACUUM (FREEZE, PROCESS_TOAST off) jobs")
    oldest = leaf(seen).xid_age
    assert database.value(age) < oldest == database.value(f"SELECT age(relfrozenxid) FROM pg_class WHERE oid = {toast}")
    database.execute("VACUUM (FREEZE) jobs")
    assert leaf(seen).xid_age < oldest
    assert seen.value("relfrozenxid_age_xids") == database.value(age)


@pytest.fixture
def slow_vacuum(database: Database) -> Iterator[int]:
    """The pid of a VACUUM of jobs that goes on until it is cancelled."""
    database.execute(PLAIN)
    database.execute("INSERT INTO jobs SELECT i, 'pending' FROM generate_series(1, 20000) AS i")
    session = database.connect()
    session.execute("SET vacuum_cost_delay = 100; SET vacuum_cost_limit = 1; SET vacuum_cost_page_miss = 100")

    def vacuum() -> None:
        with pytest.raises(psycopg.errors.QueryCanceled):
            session.execute("VACUUM jobs")

    vacuuming = Thread(target=vacuum)
    vacuuming.start()
    pid = session.info.backend_pid
    scanning = "SELECT count(*) FROM pg_stat_progress_vacuum WHERE pid = %s AND heap_blks_scanned > 0"
    wait_until(lambda: database.value(scanning, [pid]) == 1, 10, "the vacuum scans")
    yield pid
    database.execute("SELECT pg_cancel_backend(%s)", [pid])
    vacuuming.join(10)


def test_a_vacuum_that_runs_is_shown_with_its_progress_as_far_as_the_role_may_see_it(
    database: Database, make_role: Roles, slow_vacuum: int
) -> None:
    running = leaf(probe(database))
    assert running.vacuum_running
    assert running.progress is not None
    assert (running.progress.pid, running.progress.phase) == (slow_vacuum, "scanning heap")
    assert running.progress.scanned_ratio is not None
    assert 0 < running.progress.scanned_ratio < 1

    role = make_role("plain")
    database.execute(f"GRANT SELECT ON jobs TO {role}")
    seen = probe(database, role=role)
    plain = leaf(seen)
    assert seen.value("vacuum_running") == 1
    assert plain.progress is not None
    assert (plain.progress.pid, plain.progress.phase, plain.progress.scanned_ratio) == (slow_vacuum, "", None)


def test_a_role_that_may_only_read_sees_the_same_numbers(database: Database, make_role: Roles) -> None:
    database.execute(PARTS)
    write(database, "INSERT INTO jobs SELECT i FROM generate_series(1, 100) AS i")
    told(database, 100)
    vacuum(database)
    write(database, "DELETE FROM jobs WHERE id > 90")
    told(database, 110)
    role = make_role("plain")
    database.execute(f"GRANT SELECT ON jobs TO {role}")
    own, other = probe(database), probe(database, role=role)
    assert health(own).dead_rows == health(other).dead_rows == 10
    names = (*GAUGES, "last_vacuum_timestamp_seconds", "vacuum_running")
    assert [own.value(name) for name in names] == [other.value(name) for name in names]


@pytest.mark.case("M1")
@pytest.mark.parametrize("queued", [False, True])
def test_a_locked_table_keeps_nobody_from_its_numbers(database: Database, queued: bool) -> None:  # noqa: FBT001
    database.execute(PARTS)
    vacuum(database, "ANALYZE jobs")
    seen = probe(database)
    health(seen)
    holder = database.connect(autocommit=False)
    waiting: Any = None
    if queued:
        holder.execute("SELECT FROM jobs LIMIT 1")
        altering = database.connect()
        waiting = Thread(target=altering.execute, args=("ALTER TABLE jobs ADD COLUMN another int",))
        waiting.start()
        query = "SELECT count(*) FROM pg_locks WHERE relation = 'jobs'::regclass AND NOT granted"
        wait_until(lambda: database.value(query) == 1, 10, "the ALTER TABLE waits")
    else:
        holder.execute("LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
    began = time.monotonic()
    assert len(health(seen).leaves) == 2
    assert time.monotonic() - began < 1
    assert seen.value("probe_success", "table") == 1
    assert seen.value("dead_tuples") == 0
    holder.rollback()
    if waiting is not None:
        waiting.join(10)
