"""A pass that was cut short goes on at the next call; a whole one is not repeated before its queue's `every`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.tasks.reap import Reap
from pgq_ops.tasks.task import Outcome
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from tests.support.database import Database


def strand(database: Database, number: int) -> None:
    database.execute(
        "INSERT INTO jobs (status, lease_until, attempts)"
        f" SELECT 'running', now() - interval '1 minute', 1 FROM generate_series(1, {number})"
    )


def test_a_pass_that_its_time_ended_goes_on_at_the_next_call(database: Database) -> None:
    create_field_table(database)
    strand(database, 60)
    bound = bind_toml(database, FIELD + 'batch_size = 20\nevery = "1h"\n')
    task = Reap(remembers=True)
    answers = iter([True, True, False])
    assert task.run(bound.connection, bound.table, lambda: next(answers, False)).requeued == 20
    assert task.run(bound.connection, bound.table, lambda: True).requeued == 40


def test_a_whole_pass_is_not_repeated_before_the_queues_own_every(database: Database) -> None:
    create_field_table(database)
    strand(database, 10)
    bound = bind_toml(database, FIELD + 'every = "1h"\n')
    task = Reap(remembers=True)
    assert task.run(bound.connection, bound.table, lambda: True).requeued == 10
    strand(database, 10)
    assert task.run(bound.connection, bound.table, lambda: True).requeued == 0
    task._memories["jobs"].last_pass.clear()
    assert task.run(bound.connection, bound.table, lambda: True).requeued == 10


def test_a_pass_that_met_a_locked_table_is_due_again_at_once(database: Database) -> None:
    create_field_table(database)
    strand(database, 10)
    bound = bind_toml(database, FIELD + 'every = "1h"\n')
    task = Reap(remembers=True)
    # A first look, so that what the reaper wants to know of the table is known before it is locked.
    task.run(bound.connection, bound.table, lambda: False)
    task._memories["jobs"].last_pass.clear()
    with database.connect(autocommit=False) as other:
        other.execute("LOCK TABLE jobs IN ACCESS EXCLUSIVE MODE")
        assert task.run(bound.connection, bound.table, lambda: True).outcome is Outcome.BUSY
        other.rollback()
    assert task.run(bound.connection, bound.table, lambda: True).requeued == 10
