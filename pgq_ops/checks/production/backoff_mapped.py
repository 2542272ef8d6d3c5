"""Without a time before which a job is not claimed, one that failed is run again at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.mapping_advice import with_new_column
from pgq_ops.checks.production.verdict import found, passed

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "no-backoff-column"
TITLE = "A failed job can be put off"


def check(examination: Examination) -> Verdict:
    """A warning, also where `available_at` is an expression, which nothing can write."""
    table = examination.table
    available = table.fields.get("available_at")
    if available is not None and available.name is not None:
        return passed(available.name)
    what = "is an expression" if available is not None else "is not mapped"
    return found(
        Finding(
            ID,
            Severity.WARNING,
            f"available_at of {table} {what}, so a job that failed is due again at once, as often as it fails",
            {"mapped": available is not None},
            with_new_column(table, "available_at", "available_at", "timestamptz NOT NULL DEFAULT now()"),
        )
    )
