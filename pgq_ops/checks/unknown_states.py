"""Jobs in a state that nobody mapped: they are in no queue's numbers and nothing cares for them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.pasted_sql import plain, rows_where
from pgq_ops.checks.wording import by_queue, counted
from pgq_ops.job_table.quoting import any_of
from pgq_ops.stats.unknown_values import MOST

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pgq_ops.checks.look import Look
    from pgq_ops.job_table.table import JobTable

(UNKNOWN_STATES,) = IDS = ("unknown-states",)
NEEDS = ("jobs",)


def check(look: Look) -> Iterator[Finding]:
    """A warning; noticed only where the table is small enough to be read whole."""
    unknown = look.depths.total("unknown") if look.depths is not None else None
    if look.depths is None or unknown is None or not unknown.value:
        return
    known = ((queue.queue, queue.counts["unknown"].value) for queue in look.depths.queues if "unknown" in queue.counts)
    yield Finding(
        UNKNOWN_STATES,
        Severity.WARNING,
        f"{counted(unknown.value, 'job')} of {look.table} in a state that is mapped to nothing"
        f"{_named(look.depths.unknown_values)}; add it to states",
        {"unknown": unknown.value, "values": list(look.depths.unknown_values[:MOST]), "queues": by_queue(known)},
        _query(look.table),
    )


def _named(values: Sequence[str | None]) -> str:
    shown = ["NULL" if value is None else repr(value) for value in values[:MOST]]
    more = ["..."] if len(values) > MOST else []
    return f" ({', '.join([*shown, *more])})" if shown else ""


def _query(table: JobTable) -> str:
    state = table.fields.get("state")
    if state is None:
        known = any_of([table.is_state(name) for name in table.states])
        return rows_where(table, composing.SQL("{} IS NOT TRUE").format(known))
    query = composing.SQL("SELECT {0}, pg_catalog.count(*) FROM {1} AS j GROUP BY 1 ORDER BY 2 DESC;")
    return plain(query.format(state.value, table.relation.sql))
