"""A table that is worked one job at a time has a ceiling; near it batches help, and beyond it another tool."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.seen_statements import claims
from pgq_ops.checks.production.verdict import found, passed, unknown
from pgq_ops.stats import job_rate, table_statements
from pgq_ops.stats.index_support import Question

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "near-the-ceiling"
TITLE = "The load suits one table"

# Insert, claim and complete one by one reached 2,200 to 2,400 jobs a second with 8 connections on two cores, in tens
# 19,000 (docs/design/performance.md). Half of it leaves room for a peak.
_ONE_BY_ONE = 2_000
_MUCH = 1_000
_SHORTEST_SECONDS = 60.0


def check(examination: Examination) -> Verdict:
    """A warning from half of what one by one is possible; by the jobs of the last seconds, else by claims counted."""
    rate, how = _rate(examination)
    if rate is None:
        return unknown(how)
    said = f"{rate:,.1f} jobs a second {how}"
    if rate < _MUCH:
        return passed(said)
    return found(
        Finding(
            ID,
            Severity.WARNING,
            f"{said} on {examination.table}: claimed one by one, a table bears about {_ONE_BY_ONE:,}",
            {"jobs_per_second": round(rate, 1), "ceiling_per_second": _ONE_BY_ONE},
            "-- in the workers: claim, and complete, ten or more jobs at once, which bears several times more;\n"
            "-- where still more is to come, or each message has many readers, a message broker is the better tool",
        )
    )


def _rate(examination: Examination) -> tuple[float | None, str]:
    support = examination.look.support
    if support is not None and Question.FINISHED in support.serving:
        return examination.fact(job_rate.read), "finished in the last seconds"
    no_index = (
        f"which indexes lead to the jobs that finished last could not be read{examination.why_not('indexes')}"
        if support is None
        else "no index leads to the jobs that finished last"
    )
    seen = examination.fact(table_statements.read)
    taken = claims(seen, examination.table)
    if seen.why_not or not taken or seen.seconds < _SHORTEST_SECONDS:
        why = seen.why_not or "no claim was counted for long enough"
        return None, f"{no_index}, and {why}"
    return sum(one.rows for one in taken) / seen.seconds, "claimed on average since pg_stat_statements began"
