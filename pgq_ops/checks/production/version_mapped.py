"""A number that each claim raises tells a worker's own claim from a later one, also by the same worker."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.mapping_advice import with_new_column
from pgq_ops.checks.production.verdict import found, passed

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "no-version"
TITLE = "A fencing version is mapped"


def check(examination: Examination) -> Verdict:
    """Only info: nothing of ours needs it, and an owner or attempts counted by the claim can stand in for it."""
    table = examination.table
    if "version" in table.fields:
        return passed(table.fields["version"].name or "an expression")
    instead = [name for name in ("owner", "attempts") if name in table.fields]
    better = f"; {' and '.join(instead)} may stand in for it" if instead else ""
    return found(
        Finding(
            ID,
            Severity.INFO,
            f"no version of the claim is mapped for {table}, by which a late completion can be refused{better}",
            {"instead": instead},
            with_new_column(table, "version", "claim_version", "bigint NOT NULL DEFAULT 0"),
        )
    )
