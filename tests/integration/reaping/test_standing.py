"""What changes around the agent's reaper while it runs, and how soon it notices."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.schema import versions
from pgq_ops.tasks.reap import Reap
from pgq_ops.tasks.reap_memory import ReapMemory
from tests.support.binding import bind_toml
from tests.support.jobs import FIELD, create_field_table

if TYPE_CHECKING:
    from tests.support.database import Database


def test_a_reap_log_that_is_installed_meanwhile_is_written_within_half_a_minute(database: Database) -> None:
    create_field_table(database)
    bound = bind_toml(database, FIELD)
    now = [1000.0]
    task = Reap(remembers=True)
    task._memories["jobs"] = ReapMemory(clock=lambda: now[0])

    def reap_one() -> int:
        database.execute("INSERT INTO jobs (status, lease_until) VALUES ('running', now() - interval '1 minute')")
        return task.run(bound.connection, bound.table, lambda: True).requeued

    assert reap_one() == 1
    versions.install(database.connect())
    now[0] += 30
    assert reap_one() == 1
    assert database.value("SELECT count(*) FROM pgq_ops.reap_log") == 1
