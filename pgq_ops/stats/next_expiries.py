"""Which leases end next."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.job_table.leases import LeaseTerms
from pgq_ops.stats import bounded
from pgq_ops.stats.job_sample import CAP

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable


@dataclass(frozen=True, slots=True)
class NextExpiry:
    """A running job whose lease ends in `seconds_left` (negative: it is over, None: it always was), without grace."""

    id: str | None
    queue: str | None
    owner: str | None
    seconds_left: float | None
    attempts: int | None


def read(connection: Connection, table: JobTable, limit: int = 5) -> tuple[NextExpiry, ...]:
    """The `limit` leases that end first, stale ones left out: only where `IndexSupport.is_cheap("running")`."""
    if not table.has_lease:
        return ()
    terms = LeaseTerms(table, table.policies)
    owner, attempts = table.fields.get("owner"), table.fields.get("attempts")
    fragments = {
        "shown_id": table.shown_id(),
        "queue": table.queue(),
        "owner": composing.SQL("NULL::text") if owner is None else composing.SQL("{}::text").format(owner.value),
        "attempts": composing.SQL("NULL::bigint") if attempts is None else attempts.value,
        "expires_at": terms.expires_at(),
        "is_stale": terms.is_stale(),
        "table": table.relation.sql,
        "is_running": table.is_state("running"),
    }
    statement = sql.statement("stats/next_expiries", fragments)
    rows, _ = bounded.read(connection, table, statement, {"sample": CAP + 1, "limit": limit})
    return tuple(
        NextExpiry(job, queue, holder, left, None if tries is None else int(tries))
        for job, queue, holder, left, tries in rows
    )
