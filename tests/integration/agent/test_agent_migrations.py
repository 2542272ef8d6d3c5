"""A running agent whose job table is changed under it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.support.agent import EXPIRED, JOBS, wait_until

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.support.agent import Agent
    from tests.support.database import Database

    Start = Callable[..., Agent]

TO_ENUM = """
CREATE TYPE status AS ENUM ('pending', 'running', 'done', 'failed');
DROP INDEX jobs_available_at_id_idx;
ALTER TABLE jobs ALTER status DROP DEFAULT, ALTER status TYPE status USING status::status;
"""
TO_EPOCH = "ALTER TABLE jobs ALTER lease_until TYPE bigint USING extract(epoch FROM lease_until)"
ANEW = "DROP TABLE jobs;" + JOBS.format(name="jobs") + "DROP INDEX jobs_id_idx"


@pytest.mark.parametrize(
    ("migration", "expired", "live"),
    [
        (TO_ENUM, "now() - interval '1 m'", "now() + interval '9 m'"),
        (TO_EPOCH, "extract(epoch FROM now()) - 60", "extract(epoch FROM now()) + 600"),
        (ANEW, "now() - interval '1 m'", "now() + interval '9 m'"),
    ],
    ids=["the state becomes an enum", "the lease becomes a number", "dropped and made anew"],
)
def test_a_migrated_table_is_reaped_as_it_is_now_within_seconds(
    jobs: Database, start: Start, migration: str, expired: str, live: str
) -> None:
    jobs.execute("DROP INDEX jobs_id_idx")
    jobs.execute(EXPIRED.format(name="jobs"))
    agent = start(jobs.dsn)
    wait_until(lambda: jobs.value("SELECT count(*) FROM jobs WHERE status = 'pending'") == 1)
    jobs.execute(migration)
    jobs.execute(
        f"INSERT INTO jobs (status, attempts, lease_until) VALUES ('running', 1, {expired}), ('running', 1, {live})"
    )
    wait_until(lambda: jobs.value("SELECT count(*) FROM jobs WHERE status = 'running'") == 1, 12, agent.log.read_text())
    assert jobs.value(f"SELECT lease_until > {expired} FROM jobs WHERE status = 'running'")
