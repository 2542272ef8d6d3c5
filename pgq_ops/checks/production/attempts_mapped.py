"""Without a count of attempts a job that kills its workers is run for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.mapping_advice import with_new_column
from pgq_ops.checks.production.verdict import found, passed
from pgq_ops.stats import requeued_lately

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "no-attempts"
TITLE = "Attempts are counted"


def check(examination: Examination) -> Verdict:
    """A warning; info where the reaper counts them in its own log, which is installed."""
    table = examination.table
    if "attempts" in table.fields:
        return passed(table.fields["attempts"].name or "an expression")
    logged = bool(table.key) and examination.fact(requeued_lately.read) is not None
    where = "only the reaper counts them, in pgq_ops.reap_log" if logged else "nothing counts them"
    return found(
        Finding(
            ID,
            Severity.INFO if logged else Severity.WARNING,
            f"no attempts are mapped for {table}, so {where}: a failure that workers handle is never one too many",
            {"counted_by_reaper": logged},
            with_new_column(table, "attempts", "attempts", "integer NOT NULL DEFAULT 0"),
        )
    )
