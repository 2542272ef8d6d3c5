"""Dead letters that are too large, too many, too long or too wide: what can be had is, and the rest is told."""

from __future__ import annotations

import json
import tracemalloc
from io import FileIO
from typing import TYPE_CHECKING, Any

import pytest

from pgq_ops.db.connection import Limits
from pgq_ops.errors import ActionFailed
from pgq_ops.schema.versions import install
from pgq_ops.tasks import dead_export_file, dead_purge_statement, dead_sweep
from pgq_ops.tasks.dead_purge import DeadPurge
from pgq_ops.tasks.dead_retry import DeadRetry
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, FIELD_TABLE, create_field_table, statuses
from tests.support.retrying import DEAD, MOVED, count_batches, purge, retry

if TYPE_CHECKING:
    from pathlib import Path

    import psycopg

    from tests.support.database import Database


@pytest.mark.parametrize("most_bytes", [dead_purge_statement.MOST_BYTES, 10**12])
def test_rows_of_any_size_are_exported_within_a_bounded_memory(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most_bytes: int
) -> None:
    monkeypatch.setattr(dead_purge_statement, "MOST_BYTES", most_bytes)
    database.execute(FIELD_TABLE)
    database.execute("ALTER TABLE jobs ADD payload bytea; ALTER TABLE jobs ALTER payload SET STORAGE EXTERNAL")
    database.execute(DEAD, {"n": 40})
    database.execute("UPDATE jobs SET payload = decode(repeat('ab', 1000000), 'hex') WHERE id > 3")
    count_batches(database, "DELETE")
    tracemalloc.start()
    try:
        result = purge(database, file=tmp_path / "a")
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert result.exported == result.counts.jobs == 40
    assert len((tmp_path / "a").read_bytes()) > 74_000_000
    assert peak < 16_000_000
    largest = database.value("SELECT max(number) FROM batches")
    assert largest == 40 if most_bytes > 10**9 else 4 < largest <= 19


def test_a_disk_that_is_full_in_the_middle_of_a_batch_ends_the_purge_at_once(
    database: Database, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class FullDisk(FileIO):
        """Has room for some rows."""

        def write(self, data: Any) -> int:
            if self.tell() > 3_000_000:
                raise OSError(28, "No space left on device")
            return super().write(data)

    monkeypatch.setattr(dead_export_file, "FileIO", FullDisk)
    database.execute(FIELD_TABLE)
    database.execute(DEAD, {"n": 12})
    database.execute("UPDATE jobs SET last_error = repeat('x', 600000)")
    bound = bind_toml(database, FIELD)
    task = DeadPurge(export={"jobs": tmp_path / "a"})
    with pytest.raises(ActionFailed, match="No space left"):
        task.run(bound.connection, bound.table, lambda: True)
    assert (task.done["jobs"].counts.jobs, task.done["jobs"].export, (tmp_path / "a").exists()) == (0, None, False)
    assert statuses(database) == {"dead": 12}
    assert bound.connection.execute("SELECT 1").fetchone() == (1,)


def test_a_row_that_fails_only_at_the_commit_is_told_and_is_not_in_the_file(database: Database, tmp_path: Path) -> None:
    create_field_table(database)
    database.execute(DEAD, {"n": 10})
    # What SET CONSTRAINTS ALL IMMEDIATE calls puts off another check.
    database.execute("""
        CREATE TABLE noted (id bigint);
        CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN SET CONSTRAINTS ALL DEFERRED; INSERT INTO noted VALUES (old.id); RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER note AFTER DELETE ON jobs DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION note();
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF new.id = 4 THEN RAISE EXCEPTION 'at the end'; END IF; RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER refuse AFTER INSERT ON noted DEFERRABLE INITIALLY DEFERRED
        FOR EACH ROW EXECUTE FUNCTION refuse();
    """)
    result = purge(database, file=tmp_path / "a")
    assert (result.counts.jobs, result.exported, result.counts.refused) == (9, 9, 1)
    rows = [json.loads(line)["row"]["id"] for line in (tmp_path / "a").read_text().splitlines()]
    assert sorted(rows) == [1, 2, 3, 5, 6, 7, 8, 9, 10]


def test_so_many_rows_that_a_trigger_keeps_are_told_in_good_time(database: Database) -> None:
    create_field_table(database)
    database.execute(DEAD, {"n": 30_000})
    database.execute("""
        CREATE FUNCTION keep() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RETURN NULL; END $$;
        CREATE TRIGGER keep BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION keep();
    """)
    bound = bind_toml(database, FIELD, limits=Limits(statement_ms=2_000))
    counts = DeadRetry().run(bound.connection, bound.table, lambda: True).counts
    assert (counts.jobs, counts.refused, counts.locked) == (0, 30_000, 0)


def test_a_last_look_that_takes_too_long_does_not_cost_the_report(database: Database) -> None:
    create_field_table(database)
    database.execute(DEAD, {"n": 5})
    # Slow from the first change on.
    database.execute("""
        CREATE TABLE begun (at timestamptz);
        CREATE FUNCTION quick(text) RETURNS boolean LANGUAGE plpgsql AS
        $$ BEGIN IF EXISTS (SELECT FROM begun) THEN PERFORM pg_sleep(2); END IF; RETURN true; END $$;
        CREATE FUNCTION note() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN INSERT INTO begun VALUES (now()); RETURN NULL; END $$;
        CREATE TRIGGER note AFTER UPDATE ON jobs FOR EACH STATEMENT EXECUTE FUNCTION note();
    """)
    toml = FIELD.replace(
        'dead = ["dead"]', """dead = { where = "status = 'dead' AND quick(queue)", set = { status = "'dead'" } }"""
    )
    bound = bind_toml(database, toml, limits=Limits(statement_ms=700))
    with database.connect(autocommit=False) as other:
        other.execute("SELECT FROM jobs WHERE id = 2 FOR UPDATE")
        counts = DeadRetry().run(bound.connection, bound.table, lambda: True).counts
    assert counts.jobs == 4


@pytest.mark.parametrize(
    ("kind", "caps"),
    [
        ("bigint", ["9223372036854775807", "-9223372036854775808"]),
        ("smallint", ["32767", "-32768"]),
        ("numeric", ["'NaN'", "'Infinity'", "'-Infinity'", "1e400", "-1e400", "0.5"]),
        ("double precision", ["'NaN'", "'Infinity'", "'-Infinity'", "1e300", "-1e300"]),
        ("real", ["'NaN'", "'Infinity'", "1e30"]),
    ],
)
@pytest.mark.parametrize("error_type", ["text", "jsonb"])
def test_a_cap_of_any_size_keeps_no_job_from_coming_back(
    database: Database, kind: str, caps: list[str], error_type: str
) -> None:
    create_field_table(database)
    database.execute(f"ALTER TABLE jobs ALTER attempts TYPE {kind}, ALTER max_attempts TYPE {kind}")
    database.execute(f"ALTER TABLE jobs ALTER last_error TYPE {error_type} USING NULL")
    install(database.connect())
    for cap in (*caps, "NULL", "7"):
        database.execute(
            f"INSERT INTO jobs (status, attempts, max_attempts) VALUES ('dead', 5, {cap}), ('dead', {cap}, 5)"
        )
    result = retry(database, extra_attempts=2)
    assert result.counts.conflicts == ()
    assert result.counts.jobs == 2 * len(caps) + 4
    assert database.value("SELECT count(*) FROM jobs WHERE attempts = 5 AND max_attempts = 7") == 1


@pytest.mark.case("D1")
@pytest.mark.parametrize(
    ("job", "stored", "whole", "cut"),
    [
        ("numeric(10,2)", "numeric", ["1.2", "1.250", "NULL", "'NaN'"], ["1.239"]),
        ("numeric(10,2)", "text", ["'1.2'"], ["'1.239'"]),
        ("numeric(10,2)[]", "numeric[]", ["ARRAY[1.2, 3]"], ["ARRAY[1.239]"]),
        ("int", "numeric", ["2", "2.00"], ["2.5"]),
        ("smallint", "bigint", ["7"], ["70000"]),
        ("timestamp(0)", "timestamp", ["'2020-01-01 10:00'"], ["'2020-01-01 10:00:00.7'"]),
        ("date", "timestamp", ["'2020-01-01'", "'infinity'"], ["'2020-01-01 10:00'"]),
        ("date", "text", ["'2020-01-01'"], ["'2020-01-01 10:00'"]),
        ("time", "interval", ["'10:00'"], ["'1 day 10:00'"]),
        ("real", "text", ["'0.1'"], ["'0.123456789012'"]),
        ("cidr", "inet", ["'10.0.0.0/8'"], ["'10.1.2.3/8'"]),
        ("jsonb", "text", ["'{\"a\":  1}'"], []),
    ],
)
def test_a_value_that_would_come_back_as_another_one_keeps_its_job_where_it_is(
    database: Database, job: str, stored: str, whole: list[str], cut: list[str]
) -> None:
    create_field_table(database)
    database.execute(f'ALTER TABLE jobs ADD "odd %s" {job}')
    database.execute("CREATE TABLE dead_jobs (LIKE jobs)")
    database.execute(f'ALTER TABLE dead_jobs DROP "odd %s", ADD "odd %s" {stored}')
    for value in (*whole, *cut):
        number = database.value("SELECT count(*) FROM dead_jobs")
        database.execute(f"INSERT INTO dead_jobs (id, status, \"odd %s\") VALUES ({number}, 'dead', {value})")
    result = retry(database, MOVED)
    assert result.counts.jobs == len(whole)
    assert database.value("SELECT count(*) FROM dead_jobs") == len(cut) == result.counts.refused
    for conflict in result.counts.conflicts:
        assert "odd %s" in conflict.reason or "out of range" in conflict.reason


def test_a_reason_is_told_by_its_beginning(database: Database) -> None:
    create_field_table(database)
    database.execute(DEAD, {"n": 3})
    database.execute("""
        CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE EXCEPTION '%', 'no! ' || repeat('x', 1000000); END $$;
        CREATE TRIGGER refuse BEFORE UPDATE ON jobs FOR EACH ROW EXECUTE FUNCTION refuse();
    """)
    reasons = [one.reason for one in retry(database).counts.conflicts]
    assert len(reasons) == 3
    assert all("no! xxx" in reason and len(reason) < 600 for reason in reasons)


def twins(database: Database, dead: int, waiting: str) -> psycopg.Connection[Any]:
    """Dead jobs, some of them with a twin in a transaction that is not over."""
    create_field_table(database)
    database.execute("CREATE UNIQUE INDEX twins ON jobs (dedup_key) WHERE status = 'pending'")
    database.execute(
        "INSERT INTO jobs (status, attempts, dedup_key) SELECT 'dead', 5, n FROM generate_series(1, %(n)s) AS n",
        {"n": dead},
    )
    other = database.connect(autocommit=False)
    other.execute(
        "INSERT INTO jobs (status, dedup_key)"
        f" SELECT 'pending', n FROM generate_series(1, {dead}) AS n WHERE {waiting}".encode()
    )
    return other


def test_a_table_full_of_jobs_that_wait_is_left_after_some_of_them(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(dead_sweep, "MOST_WAITING", 4)
    other = twins(database, 60, "true")
    counts = retry(database).counts
    assert (counts.jobs, counts.locked, counts.busy, counts.outcome) == (0, 4, ("public.jobs",), "busy")
    other.rollback()
    assert retry(database).counts.jobs == 60
    assert statuses(database) == {"pending": 60}


def test_some_that_wait_among_many_keep_nobody_back(database: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dead_sweep, "MOST_WAITING", 2)
    twins(database, 600, "n >= 400 AND n % 100 = 0")
    counts = retry(database).counts
    assert (counts.jobs, counts.locked, counts.busy) == (597, 3, ())
