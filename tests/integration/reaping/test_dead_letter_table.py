"""Buried jobs that are moved to a table of their own."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest

from pgq_ops.errors import ConfigError, TableChanged
from pgq_ops.tasks.reap import Reap
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table, reap, statuses

if TYPE_CHECKING:
    from tests.support.database import Database

MOVING = FIELD + 'dead_letter_table = "dead_jobs"\nmax_attempts = 3\n'


def prepare(database: Database, dead: str = "CREATE TABLE dead_jobs (LIKE jobs INCLUDING ALL)") -> None:
    create_field_table(database)
    database.execute("""
        INSERT INTO jobs (status, lease_until, attempts, locked_by, last_error)
        SELECT 'running', now() - interval '1 minute', n % 6, 'worker', 'earlier' FROM generate_series(0, 59) AS n
    """)
    database.execute(dead)


def test_buried_jobs_are_moved_whole_and_the_others_requeued(database: Database) -> None:
    prepare(database)
    result = reap(database, MOVING)
    assert (result.requeued, result.dead_lettered, result.conflicts) == (30, 30, 0)
    assert statuses(database) == {"pending": 30}
    assert statuses(database, "dead_jobs") == {"dead": 30}
    assert database.value("SELECT count(*) FROM dead_jobs WHERE locked_by = 'worker' AND finished_at IS NOT NULL") == 30
    assert (
        database.value("SELECT count(*) FROM dead_jobs WHERE last_error LIKE %s", ["earlier\n%buried%attempt%"]) == 30
    )


def test_columns_are_copied_by_name_in_whatever_order_and_ids_are_kept(database: Database) -> None:
    prepare(
        database,
        """CREATE TABLE dead_jobs (buried_at timestamptz DEFAULT now(), last_error text, dedup_key text, created_at timestamptz,
           run_at timestamptz, locked_by text, lease_until timestamptz, max_attempts bigint, attempts bigint, status text,
           queue text, finished_at timestamptz, id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY)""",
    )
    before = {row for (row,) in database.rows("SELECT id FROM jobs WHERE attempts >= 3")}
    assert reap(database, MOVING).dead_lettered == 30
    assert {row for (row,) in database.rows("SELECT id FROM dead_jobs")} == before


@pytest.mark.case("R23")
def test_a_trigger_that_swallows_copies_loses_nothing(database: Database) -> None:
    prepare(database)
    database.execute("""
        CREATE FUNCTION swallow() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN IF new.id % 2 = 0 THEN RETURN NULL; END IF; RETURN new; END $$
    """)
    database.execute("CREATE TRIGGER swallow BEFORE INSERT ON dead_jobs FOR EACH ROW EXECUTE FUNCTION swallow()")
    result = reap(database, MOVING)
    assert result.dead_lettered + result.conflicts == 30
    assert result.conflicts == database.value("SELECT count(*) FROM jobs WHERE status = 'running'") > 0
    assert database.value("SELECT (SELECT count(*) FROM jobs) + (SELECT count(*) FROM dead_jobs)") == 60


@pytest.mark.case("R23")
@pytest.mark.parametrize(
    ("dead", "reason"),
    [
        ("CREATE UNLOGGED TABLE dead_jobs (LIKE jobs)", "unlogged"),
        ("CREATE VIEW dead_jobs AS SELECT * FROM jobs", "a view"),
        ("CREATE TABLE dead_jobs AS SELECT id, status FROM jobs WHERE false", "no column 'queue'"),
        ("CREATE TABLE dead_jobs (LIKE jobs, reason text NOT NULL)", "NOT NULL without a default"),
        ("CREATE TABLE dead_jobs (LIKE jobs); ALTER TABLE dead_jobs ALTER status TYPE varchar(3)", "too narrow"),
        ("CREATE TABLE dead_jobs (LIKE jobs); ALTER TABLE dead_jobs ALTER attempts TYPE uuid USING NULL", "too narrow"),
        ("CREATE TABLE dead_jobs (LIKE jobs); ALTER TABLE dead_jobs ALTER id TYPE int", "too narrow"),
        ("CREATE TABLE dead_jobs (LIKE jobs); ALTER TABLE dead_jobs ALTER id TYPE double precision", "too narrow"),
        ("CREATE TABLE dead_jobs (LIKE jobs); ALTER TABLE dead_jobs ALTER run_at TYPE date", "too narrow"),
        ("CREATE TABLE dead_jobs (LIKE jobs); ALTER TABLE dead_jobs ALTER run_at TYPE timestamptz(0)", "too narrow"),
        ("CREATE TABLE dead_jobs (LIKE jobs); ALTER TABLE dead_jobs ALTER queue TYPE name", "too narrow"),
        ("SELECT 1", "there is no table"),
    ],
)
def test_a_table_that_could_lose_a_job_is_refused(database: Database, dead: str, reason: str) -> None:
    prepare(database, dead)
    with pytest.raises(ConfigError, match=reason):
        reap(database, MOVING)
    assert statuses(database) == {"running": 60}


def test_a_job_that_a_child_row_holds_is_passed_over(database: Database) -> None:
    prepare(database)
    database.execute("CREATE TABLE notes (job bigint REFERENCES jobs)")
    held = database.value("SELECT max(id) FROM jobs WHERE attempts = 5")
    with database.connect(autocommit=False) as child:
        child.execute("INSERT INTO notes VALUES (%s)", [held])
        result = reap(database, MOVING)
        assert (result.dead_lettered, result.remaining, result.locked) == (29, 1, 0)


@pytest.mark.parametrize("remembers", [False, True], ids=["by hand", "by the agent"])
@pytest.mark.parametrize("batch_size", [500, 1])
def test_what_needs_no_burial_is_requeued_while_somebody_holds_the_dead_letter_table(
    database: Database, *, remembers: bool, batch_size: int
) -> None:
    prepare(database)
    task = Reap(remembers=remembers)
    bound = bind_toml(database, MOVING + f"batch_size = {batch_size}\n")
    with database.connect(autocommit=False) as holder:
        holder.execute("LOCK TABLE dead_jobs IN SHARE MODE")
        begun = time.monotonic()
        result = task.run(bound.connection, bound.table, lambda: True)
        assert time.monotonic() - begun < 2
        assert (result.requeued, result.dead_lettered, result.locked) == (30, 0, 0)
        assert result.busy == ("public.dead_jobs",)
        holder.rollback()
    assert task.run(bound.connection, bound.table, lambda: True).dead_lettered == 30


@pytest.mark.case("D1")
def test_no_job_is_moved_without_a_column_that_jobs_have_got_since_the_binding(database: Database) -> None:
    prepare(database)
    bound = bind_toml(database, MOVING)
    database.execute("ALTER TABLE jobs ADD COLUMN tenant text DEFAULT 'somebody'")
    with pytest.raises(TableChanged, match="tenant"):
        Reap(remembers=True).run(bound.connection, bound.table, lambda: True)
    assert statuses(database) == {"running": 60}
    with pytest.raises(ConfigError, match="no column 'tenant'"):
        reap(database, MOVING)
    database.execute("ALTER TABLE dead_jobs ADD COLUMN tenant text")
    assert reap(database, MOVING).dead_lettered == 30
    assert database.value("SELECT count(*) FROM dead_jobs WHERE tenant = 'somebody'") == 30


@pytest.mark.case("D5")
def test_no_job_is_moved_with_rows_that_refer_to_it_since_the_binding(database: Database) -> None:
    prepare(database)
    bound = bind_toml(database, MOVING)
    database.execute("CREATE TABLE job_events (job bigint REFERENCES jobs ON DELETE CASCADE)")
    database.execute("INSERT INTO job_events SELECT id FROM jobs")
    with pytest.raises(TableChanged, match="job_events_job_fkey deletes rows of job_events"):
        Reap(remembers=True).run(bound.connection, bound.table, lambda: True)
    assert statuses(database) == {"running": 60}
    assert database.value("SELECT count(*) FROM job_events") == 60


def test_a_state_column_that_knows_no_dead_jobs_will_do_where_all_of_them_are_moved(database: Database) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ADD CONSTRAINT known CHECK (status IN ('pending', 'running', 'done'))")
    database.execute("CREATE TABLE dead_jobs (LIKE jobs INCLUDING CONSTRAINTS)")
    database.execute("INSERT INTO jobs (status, lease_until, attempts) VALUES ('running', now() - interval '1 m', 5)")
    preset = """
        [job_tables.jobs]
        table = "jobs"
        preset = "lease"
        columns = { owner = "locked_by", available_at = "run_at" }
        reaper = { dead_letter_table = "dead_jobs" }
    """
    with pytest.raises(ConfigError, match=r"states\.dead: column 'status' \(text\) cannot hold 'failed'"):
        reap(database, preset)
    assert reap(database, preset + "states = { dead = [] }").dead_lettered == 1
    assert database.rows("SELECT status, locked_by FROM dead_jobs") == [("running", None)]
