"""Many leases that expire at once, and large tables without an index."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from pgq_ops.tasks.reap import Reap
from pgq_ops.tasks.reap_memory import ReapMemory
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, FIELD_TABLE, create_field_table, reap, statuses

if TYPE_CHECKING:
    from tests.support.database import Database


def strand(database: Database, number: int, lease: str = "now() - interval '1 minute'") -> None:
    database.execute(
        f"INSERT INTO jobs (status, lease_until, attempts) SELECT 'running', {lease}, 1 FROM generate_series(1, {number})"
    )


@pytest.mark.case("R11")
def test_the_agent_goes_slowly_while_most_leases_expire_together(database: Database) -> None:
    create_field_table(database)
    strand(database, 10_000)
    bound = bind_toml(database, FIELD + 'every = "100ms"\n')
    task = Reap(remembers=True)
    memory = task._memories["jobs"] = ReapMemory()
    reaped, warned = [], []
    for _ in range(9):
        memory.last_pass.clear()
        result = task.run(bound.connection, bound.table, lambda: True)
        reaped.append(result.requeued)
        warned.append(result.mass_expired)
    assert reaped[:7] == [100, 200, 400, 800, 1600, 3200, 3700]
    assert warned[0] == 10_000
    assert warned[6] == 0
    assert statuses(database) == {"pending": 10_000}
    spread = database.value("SELECT extract(epoch FROM max(run_at) - min(run_at)) FROM jobs WHERE attempts = 1")
    distinct = database.value("SELECT count(DISTINCT run_at) FROM jobs")
    assert spread >= 1.5
    assert distinct > 9_000


@pytest.mark.case("R11")
def test_a_person_gets_all_of_them_at_once_in_bounded_batches(database: Database) -> None:
    create_field_table(database)
    strand(database, 3_000)
    assert reap(database).requeued == 3_000


def test_fewer_than_the_minimum_or_the_fraction_are_reaped_at_once(database: Database) -> None:
    create_field_table(database)
    strand(database, 400)
    strand(database, 500, "now() + interval '1 hour'")
    bound = bind_toml(database, FIELD)
    result = Reap(remembers=True).run(bound.connection, bound.table, lambda: True)
    assert (result.requeued, result.mass_expired) == (400, 0)


def test_the_guard_stops_a_pass_between_batches(database: Database) -> None:
    create_field_table(database)
    strand(database, 3_000)
    bound = bind_toml(database, FIELD)
    answers = iter([True, True, True, False])
    result = Reap().run(bound.connection, bound.table, lambda: next(answers, False))
    assert result.requeued == 1_000
    assert result.remaining == 2_000


@pytest.mark.case("R17")
def test_a_large_table_without_an_index_is_gone_through_in_committed_stretches(database: Database) -> None:
    """Smaller than three million rows, but several stretches of the heap: none reads the whole table."""
    database.execute(FIELD_TABLE)
    database.execute("ALTER TABLE jobs ADD COLUMN filler text DEFAULT repeat('x', 3000)")
    database.execute("ALTER TABLE jobs ALTER filler SET STORAGE PLAIN")
    strand(database, 40_000)
    database.execute("DROP INDEX IF EXISTS jobs_running")
    database.execute("ANALYZE jobs")
    assert database.value("SELECT pg_relation_size('jobs') / 8192") > 2 * 8_192
    database.execute("ALTER ROLE CURRENT_USER IN DATABASE " + database.name + " SET statement_timeout = '30s'")
    bound = bind_toml(database, FIELD)
    stopped_after = iter([True] * 60)
    first = Reap().run(bound.connection, bound.table, lambda: next(stopped_after, False))
    assert 0 < first.requeued < 40_000
    assert statuses(database)["pending"] == first.requeued
    second = reap(database)
    assert first.requeued + second.requeued == 40_000
