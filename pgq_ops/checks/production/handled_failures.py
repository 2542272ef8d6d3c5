"""A worker that hands failed jobs back at once, or without end, runs nothing but those in the end."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.pasted_sql import rows_where
from pgq_ops.checks.production.verdict import found, not_applicable, passed, unknown
from pgq_ops.checks.wording import counted
from pgq_ops.job_table.changes import ReapChanges
from pgq_ops.job_table.quoting import all_of, literal
from pgq_ops.stats import retry_loops
from pgq_ops.stats.index_support import Question

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.retry_loops import RetryLoops

ID = "retries-without-end"
TITLE = "Failed jobs wait, and end"


def check(examination: Examination) -> Verdict:
    """A warning for pending jobs with all their attempts made, or tried often and never put off."""
    table, support = examination.table, examination.look.support
    if "attempts" not in table.fields:
        return not_applicable("attempts are not mapped, so nothing can be told of them")
    if support is None:
        return unknown(f"which indexes lead to the pending jobs could not be read{examination.why_not('indexes')}")
    if not (support.is_cheap(Question.PENDING) or support.is_cheap(Question.PENDING_IN_ORDER)):
        return unknown("no index leads to the pending jobs")
    loops = _counted(examination)
    parts = [
        f"{counted(loops.capped, 'pending job')} with as many attempts as jobs may have" if loops.capped else "",
        f"{counted(loops.hurried, 'pending job')} tried {retry_loops.OFTEN} times or more and never put off"
        if loops.hurried
        else "",
    ]
    if any(parts):
        return found(
            Finding(
                ID,
                Severity.WARNING,
                f"{table} has {' and '.join(part for part in parts if part)}: their workers hand failed jobs back"
                f"{' without end' if loops.capped else ''}{' without a pause' if loops.hurried else ''}",
                {"pending": loops.pending, "capped": loops.capped, "hurried": loops.hurried},
                _worst(table),
            )
        )
    if loops.hurried is None:
        return passed(f"none of {counted(loops.pending, 'pending job')} is beyond its cap; pauses cannot be told")
    return passed(f"of {counted(loops.pending, 'pending job')} none is beyond its cap or tried in a loop")


def _counted(examination: Examination) -> RetryLoops:
    """What there is; the cap counts only where somebody set it, or asked for the reaper, which goes by it."""
    table, loops = examination.table, examination.fact(retry_loops.read)
    capped = "max_attempts" in table.fields or "reaper" in examination.config.job_tables[table.name].requested_tasks
    return loops if capped else replace(loops, capped=0)


def _worst(table: JobTable) -> str:
    attempts = ReapChanges(table, table.policies[0]).attempts()
    often = composing.SQL("{} >= {}").format(attempts, literal(retry_loops.OFTEN))
    return rows_where(
        table,
        all_of([table.is_state("pending"), often]),
        *("queue", "attempts", "max_attempts", "available_at", "created_at", "error"),
        order=composing.SQL("{} DESC").format(attempts),
    )
