"""Which tables are read whole, and what else is read of the catalog and the schema."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import pytest

from pgq_ops.errors import NotPermitted
from pgq_ops.schema.history import TaskRun, record_run
from pgq_ops.schema.versions import install
from pgq_ops.stats import estimates, task_runs
from tests.support.binding import bind_toml
from tests.support.collecting import collection_of
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from tests.support.database import Database
    from tests.support.roles import Roles


@pytest.mark.parametrize(
    ("rows", "analysed", "small"),
    [(195_000, True, True), (205_000, True, False), (100_000, False, True)],
)
def test_a_table_of_up_to_two_hundred_thousand_rows_is_small(
    database: Database,
    rows: int,
    analysed: bool,  # noqa: FBT001
    small: bool,  # noqa: FBT001
) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs SET (autovacuum_enabled = off)")
    database.execute("INSERT INTO jobs (status) SELECT 'done' FROM generate_series(1, %s)", [rows])
    if analysed:
        database.execute("ANALYZE jobs")
    bound = bind_toml(database, FIELD)
    assert estimates.is_small(bound.connection, bound.table) is small


def test_a_table_of_few_rows_on_many_pages_is_not_small(database: Database) -> None:
    create_field_table(database)
    database.execute(
        "ALTER TABLE jobs SET (autovacuum_enabled = off); ALTER TABLE jobs ALTER last_error SET STORAGE PLAIN"
    )
    bound = bind_toml(database, FIELD)
    insert = "INSERT INTO jobs (last_error) SELECT repeat('x', 7000) FROM generate_series(1, %s)"
    database.execute(insert, [4_000])
    assert estimates.is_small(bound.connection, bound.table)
    database.execute(insert, [2_200])
    assert not estimates.is_small(bound.connection, bound.table)


def test_the_last_runs_are_read_where_the_schema_is_there_and_readable(database: Database, make_role: Roles) -> None:
    create_field_table(database)
    bound = bind_toml(database, FIELD)
    assert task_runs.read(bound.connection, bound.table) is None
    install(bound.connection)
    assert task_runs.read(bound.connection, bound.table) == ()
    record_run(bound.connection, bound.table, TaskRun("reaper", "ok", timedelta(seconds=2), "3 requeued"))
    [run] = task_runs.read(bound.connection, bound.table) or ()
    assert (run.task, run.outcome, run.message, run.duration_seconds) == ("reaper", "ok", "3 requeued", 2.0)
    assert 0 <= run.seconds_ago < 60
    assert run.success_seconds_ago == run.seconds_ago
    assert run.at.endswith("Z")
    role = make_role("reader")
    database.execute(f"GRANT SELECT ON jobs TO {role}")
    reader = bind_toml(database, FIELD, role=role)
    with pytest.raises(NotPermitted, match="GRANT"):
        task_runs.read(reader.connection, reader.table)


def test_a_role_that_may_read_the_mapped_columns_only_can_collect_everything(
    database: Database, make_role: Roles
) -> None:
    create_field_table(database)
    database.execute("ALTER TABLE jobs ADD payload jsonb")
    database.execute("INSERT INTO jobs (queue, status) VALUES ('a', 'pending'), ('a', 'running')")
    role = make_role("observer")
    columns = (
        "id, status, run_at, lease_until, locked_by, attempts, max_attempts, queue, created_at, finished_at, last_error"
    )
    database.execute(f"GRANT SELECT ({columns}) ON jobs TO {role}")
    seen = collection_of(database, role=role).healthy()
    assert seen.jobs("a") == {"ready": 1, "running": 1}
