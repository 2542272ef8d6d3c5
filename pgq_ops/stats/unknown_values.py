"""Which values the jobs hold whose state is mapped to nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import errors

from pgq_ops import sql
from pgq_ops.job_table.quoting import any_of
from pgq_ops.stats import bounded

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

# A person adds them to the config one by one; more of them mean that the wrong column is mapped.
MOST = 10


def read(connection: Connection, table: JobTable) -> tuple[str | None, ...]:
    """The most frequent ones, at most one more than `MOST`, None for NULL; only for a table that may be read whole.

    Empty where states are told by predicates alone, and where the session's timeout ends the look. Raises the
    driver's other errors.
    """
    state = table.fields.get("state")
    if state is None:
        return ()
    known = any_of([table.is_state(name) for name in table.states])
    fragments = {"state": state.value, "table": table.relation.sql, "is_known": known}
    look = sql.statement("stats/unknown_values", fragments)
    try:
        rows, _ = bounded.read(connection, table, look, {"limit": MOST + 1}, through_indexes=False)
    except errors.QueryCanceled:
        return ()
    return tuple(value for (value,) in rows)
