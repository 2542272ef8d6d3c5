"""The two job tables of the soak and the numbers that workers and agents go by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql

if TYPE_CHECKING:
    from psycopg.sql import Composed

# Short, so that a run sees thousands of leases end; a heartbeat that comes late on a busy machine only costs its claim.
LEASE_SECONDS = 1.5
EVERY_SECONDS = 0.5
# Longer than an agent's tick of 2 s, so that it is this that holds it back after a restart.
SETTLE_SECONDS = 2.5
CAP = 4
# performance.md, "To reach": a leader killed, the next one acts; and a lease's end to pending again, beyond `every`.
TAKEOVER_SECONDS = 5.0
SLACK_SECONDS = 0.5

_REAPER = f"""every = "{EVERY_SECONDS * 1000:.0f}ms"
settle = "{SETTLE_SECONDS * 1000:.0f}ms"
max_attempts = {CAP}
backoff = {{ base = "200ms", max = "1s", jitter = 0.5 }}
"""


@dataclass(frozen=True, slots=True)
class JobTable:
    """One job table: its name in the config, which is also the folder of its statements, and how its leases work.

    `extends`: workers move the lease's end forward. `config`: its sections of the agents' configuration.
    """

    name: str
    grace_seconds: float
    extends: bool
    config: str

    def statement(self, name: str) -> Composed:
        """The statement in `sql/<table>/<name>.sql`."""
        return statement(f"{self.name}/{name}")


def statement(name: str) -> Composed:
    """The statement in `sql/<name>.sql`."""
    return sql.statement(f"sql/{name}", package="soak")


LEASE = JobTable(
    "lease",
    grace_seconds=0.3,
    extends=True,
    config=f"""
[job_tables.lease]
table = "public.soak_lease"
preset = "lease"
lease = {{ grace = "300ms" }}
[job_tables.lease.reaper]
{_REAPER}""",
)
STARTED = JobTable(
    "started",
    grace_seconds=0.0,
    extends=False,
    config=f"""
[job_tables.started]
table = "public.soak_started"
preset = "started-at"
lease = {{ timeout = "{LEASE_SECONDS * 1000:.0f}ms" }}
[job_tables.started.reaper]
dead_letter_table = "public.soak_dead"
{_REAPER}""",
)
TABLES = (LEASE, STARTED)
