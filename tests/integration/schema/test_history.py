"""What the schema remembers of runs, and what it forgets."""

from __future__ import annotations

import os
from datetime import timedelta
from typing import TYPE_CHECKING

import pytest
from psycopg.sql import SQL

from pgq_ops.job_table.changes import ReapChanges
from pgq_ops.job_table.columns import Clock
from pgq_ops.job_table.table import JobTable, Relation
from pgq_ops.schema import history
from pgq_ops.schema.history import TaskRun, prune, record_run
from pgq_ops.schema.versions import install
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from tests.support.database import Database


def job_table(oid: int, name: str = "emails") -> JobTable:
    relation = Relation(oid, "public", "jobs")
    return JobTable(name, relation, partitioned=False, key=(), fields={}, states={}, policies=(), clock=Clock("UTC"))


@pytest.fixture
def connection(database: Database) -> Connection:
    connection = database.connect()
    install(connection)
    return connection


def test_the_last_run_of_a_task_replaces_the_one_before_and_keeps_the_last_success(
    connection: Connection, database: Database
) -> None:
    table, took = job_table(4_000_000_000), timedelta(milliseconds=250)
    record_run(connection, table, TaskRun("reaper", "ok", took))
    [(succeeded,)] = database.rows("SELECT last_success_at FROM pgq_ops.task")
    record_run(connection, table, TaskRun("reaper", "failed", took * 2, "no"))
    [row] = database.rows(
        "SELECT table_oid::bigint, job_table, task, outcome, duration_seconds, message, pid,"
        " last_success_at, last_run_at > last_success_at FROM pgq_ops.task"
    )
    assert row == (4_000_000_000, "emails", "reaper", "failed", 0.5, "no", os.getpid(), succeeded, True)


@pytest.mark.parametrize(("outcome", "counts"), [("ok", True), ("nothing", True), ("busy", False), ("failed", False)])
def test_only_runs_that_ended_well_count_as_a_success(
    connection: Connection, database: Database, outcome: str, *, counts: bool
) -> None:
    record_run(connection, job_table(1), TaskRun("reaper", outcome, timedelta(0)))
    assert database.rows("SELECT outcome, last_success_at IS NOT NULL FROM pgq_ops.task") == [(outcome, counts)]


def test_tasks_and_tables_have_a_row_each_and_a_renamed_table_keeps_its_own(
    connection: Connection, database: Database
) -> None:
    for table, task in ((job_table(1), "reaper"), (job_table(1), "retention"), (job_table(2), "reaper")):
        record_run(connection, table, TaskRun(task, "ok", timedelta(0)))
    record_run(connection, job_table(1, "mails"), TaskRun("reaper", "ok", timedelta(0)))
    rows = database.rows("SELECT table_oid::int, job_table, task FROM pgq_ops.task ORDER BY 1, 3")
    assert rows == [(1, "mails", "reaper"), (1, "emails", "retention"), (2, "emails", "reaper")]


def test_a_long_message_is_cut_and_one_that_postgresql_cannot_hold_is_kept_without_it(
    connection: Connection, database: Database
) -> None:
    record_run(connection, job_table(1), TaskRun("reaper", "failed", timedelta(0), "a\0b" + "x" * 9_999))
    [(message,)] = database.rows("SELECT message FROM pgq_ops.task")
    assert message.startswith("abx")
    assert len(message) < 1_001


def test_pruning_forgets_what_is_older_than_30_days_and_nothing_younger(
    connection: Connection, database: Database
) -> None:
    for oid, age in ((1, "29 days 23:59"), (2, "30 days 00:01")):
        record_run(connection, job_table(oid), TaskRun("reaper", "ok", timedelta(0)))
        database.execute("UPDATE pgq_ops.task SET last_run_at = now() - %s::interval WHERE table_oid = %s", [age, oid])
        database.execute(
            "INSERT INTO pgq_ops.reap_log (table_oid, job, outcome, at)"
            " SELECT %s, i::text, 'requeued', now() - %s::interval FROM generate_series(1, 3) AS i",
            [oid, age],
        )
    # As a backup restored into it, or a clock set back, would leave it.
    database.execute(
        "INSERT INTO pgq_ops.reap_log (table_oid, job, outcome, at) VALUES (3, '1', 'requeued', 'infinity')"
    )
    assert prune(connection) == 4
    assert database.rows("SELECT table_oid::int FROM pgq_ops.task") == [(1,)]
    assert database.rows("SELECT table_oid::int, count(*) FROM pgq_ops.reap_log GROUP BY 1 ORDER BY 1") == [
        (1, 3),
        (3, 1),
    ]
    assert prune(connection) == 0


def test_pruning_takes_the_oldest_of_a_long_log_in_bounded_batches(
    connection: Connection, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(history, "PRUNE_BATCH", 10)
    database.execute(
        "INSERT INTO pgq_ops.reap_log (table_oid, job, outcome, at)"
        " SELECT 1, i::text, 'requeued', now() - make_interval(days => 45 - i) FROM generate_series(1, 40) AS i"
    )
    assert [prune(connection) for _ in range(3)] == [10, 5, 0]
    assert database.value("SELECT min(job::int) FROM pgq_ops.reap_log") == 16


@pytest.mark.usefixtures("connection")
def test_the_attempts_of_one_job_are_found_through_the_index(database: Database) -> None:
    create_field_table(database)
    bound = bind_toml(database, FIELD.replace('attempts = "attempts"\n', ""))
    database.execute(
        "INSERT INTO pgq_ops.reap_log (table_oid, job, outcome)"
        " SELECT 1 + i %% 3, i::text, 'requeued' FROM generate_series(1, 20000) AS i",
        {},
    )
    database.execute("ANALYZE pgq_ops.reap_log")
    attempts = ReapChanges(bound.table, bound.table.policies[0]).attempts()
    query = SQL("EXPLAIN SELECT {} FROM jobs AS j").format(attempts)
    plan = "\n".join(line for (line,) in bound.connection.execute(query, {}).fetchall())
    assert plan.count("reap_log_job") == 2
    assert "Seq Scan on reap_log" not in plan
