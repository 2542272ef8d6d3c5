"""Finished jobs leave the table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.pasted_sql import plain
from pgq_ops.checks.production.verdict import found, passed, unknown
from pgq_ops.checks.wording import counted
from pgq_ops.job_table.quoting import literal
from pgq_ops.stats import index_states, tree_tables
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.table_health import TableHealth

ID = "no-retention"
TITLE = "Finished jobs leave the table"

# Claims through a partial index do not mind finished jobs; backups, VACUUM, and every index that is not partial do.
_FEW_ROWS = 100_000
_MANY_ROWS = 1_000_000
# Who deletes this share of what comes keeps the table from growing for ever.
_SHARE = 0.8
_DAY_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class _Growth:
    """What the counters say of all leaves together.

    `bytes`: with indexes, None before the first vacuum or analyze. `daily`: rows more each day; None where the counters
    have not counted for one yet.
    """

    rows: int
    bytes: int | None
    inserted: int
    deleted: int
    daily: float | None
    since: str


def check(examination: Examination) -> Verdict:
    """A warning from a million rows on, info from a hundred thousand. pgq-ops advises here, and deletes nothing."""
    health = examination.look.health
    if health is None or health.statistics_lost or any(leaf.live_rows is None for leaf in health.leaves):
        lost = "the table's counters could not be read, or were lost in a crash"
        return unknown(lost + examination.why_not("relation"))
    over = [one for one in examination.fact(tree_tables.read) if one.past]
    if over:
        return passed(f"partitioned by time: {counted(len(over), 'partition')} over, which can be dropped whole")
    growth = _growth(health, examination.fact(index_states.read).counting_seconds)
    size = "" if growth.bytes is None else f", {growth.bytes / 1e6:,.1f} MB with indexes"
    seen = f"{growth.rows:,} rows{size}"
    if growth.rows < _FEW_ROWS:
        return passed(f"only {seen}")
    if growth.deleted >= growth.inserted * _SHARE:
        return passed(f"{seen}; {growth.deleted:,} deleted for {growth.inserted:,} inserted {growth.since}")
    finished = _finished(examination)
    if finished is not None and finished < growth.rows * (1 - _SHARE):
        return passed(f"{seen}, of which about {finished:,} are finished jobs")
    daily = "" if growth.daily is None else f" and {growth.daily:,.0f} more each day"
    return found(
        Finding(
            ID,
            Severity.WARNING if growth.rows >= _MANY_ROWS else Severity.INFO,
            f"nothing removes finished jobs of {examination.table}: {seen}{daily}"
            f" ({growth.deleted:,} deleted for {growth.inserted:,} inserted {growth.since})",
            {"rows": growth.rows, "bytes": growth.bytes, "inserted": growth.inserted, "deleted": growth.deleted},
            _remedy(examination.table),
        )
    )


def _growth(health: TableHealth, seconds: float | None) -> _Growth:
    inserted, deleted = (sum(getattr(leaf, name) for leaf in health.leaves) for name in ("inserted", "deleted"))
    return _Growth(
        sum(leaf.live_rows or 0 for leaf in health.leaves),
        None if health.table_bytes is None else health.table_bytes + (health.index_bytes or 0),
        inserted,
        deleted,
        (inserted - deleted) / seconds * _DAY_SECONDS if seconds is not None and seconds >= _DAY_SECONDS else None,
        "since the counters began" if seconds is None else f"in {format_duration(seconds)}",
    )


def _finished(examination: Examination) -> int | None:
    depths = examination.look.depths
    totals = [depths.total(state) for state in ("done", "dead", "cancelled")] if depths is not None else []
    known = [total.value for total in totals if total is not None]
    return sum(known) if known else None


def _remedy(table: JobTable) -> str:
    since = next((table.fields[name] for name in ("finished_at", "created_at") if name in table.fields), None)
    old = composing.SQL("true") if since is None else table.clock.ran_out(since, literal(int(7 * _DAY_SECONDS)))
    found_rows = composing.SQL("SELECT j.ctid FROM {} AS j WHERE {} AND {} LIMIT 1000 FOR UPDATE SKIP LOCKED").format(
        table.relation.sql, table.is_state("done"), old
    )
    delete = composing.SQL("DELETE FROM {} AS j WHERE j.ctid = ANY (ARRAY({}));").format(table.relation.sql, found_rows)
    if table.partitioned or "done" not in table.states:
        return "-- drop partitions whose jobs are finished (DETACH PARTITION CONCURRENTLY first), or delete in batches"
    return (
        "-- only if nobody needs them any more: deletes jobs that have been done for a week; again and again until it"
        " deletes\n-- fewer than 1,000. Better still, partition the table by time and drop whole partitions\n"
        f"{plain(delete)}"
    )
