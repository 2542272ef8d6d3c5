"""A pass that goes on where one was cut short: what has expired before that place is not left for an interval more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.tasks.reap import Reap
from tests.support.article_tables import LEASE_TABLE
from tests.support.binding import LEASE, bind_toml

if TYPE_CHECKING:
    from tests.support.database import Database

EXPIRE = "UPDATE demo_queue_jobs SET status = 'running', lease_until = now() - interval '1 s' WHERE id = 1"


def test_a_job_that_expired_before_the_place_where_a_pass_was_cut_short_does_not_wait_for_two_intervals(
    database: Database,
) -> None:
    database.execute(LEASE_TABLE)
    database.execute(
        "INSERT INTO demo_queue_jobs (payload, status, lease_until, attempts)"
        " SELECT '{}', 'running', now() - interval '1 s', 1 FROM generate_series(1, 6)"
    )
    bound = bind_toml(database, LEASE + 'batch_size = 2\nsettle = "0s"\nevery = "1h"\n')
    task, answers = Reap(remembers=True), iter([True, True])
    assert task.run(bound.connection, bound.table, lambda: next(answers, False)).requeued == 2
    database.execute(EXPIRE)
    for _ in range(2):
        task.run(bound.connection, bound.table, lambda: True)
    assert database.rows("SELECT id FROM demo_queue_jobs WHERE status = 'running'") == []
