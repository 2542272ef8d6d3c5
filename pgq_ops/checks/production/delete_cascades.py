"""Deleting a job deletes nothing that somebody wants to keep."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.binding import cascades
from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.pasted_sql import as_regclass
from pgq_ops.checks.production.naming import listed
from pgq_ops.checks.production.verdict import found, not_applicable

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "delete-cascades"
TITLE = "Deleting a job deletes nothing else"


def check(examination: Examination) -> Verdict:
    """Info: it may be meant. A warning where other jobs would be deleted."""
    table = examination.table
    known = cascades.read(examination.connection, table.relation)
    if not known:
        return not_applicable("no foreign key changes other rows when a job is deleted")
    takes_jobs = any(one.deletes_its_like for one in known)
    relation = as_regclass(table.relation)
    return found(
        Finding(
            ID,
            Severity.WARNING if takes_jobs else Severity.INFO,
            f"whoever deletes a job of {table} changes other rows: {listed(str(one) for one in known)}; a clean-up of"
            f" finished jobs takes {'other jobs' if takes_jobs else 'their history'} with it",
            {"constraints": [str(one) for one in known]},
            f"SELECT conrelid::regclass, conname, pg_get_constraintdef(oid) FROM pg_constraint"  # noqa: S608  # text for a person; quoted above
            f" WHERE contype = 'f' AND confrelid = {relation} AND confdeltype IN ('c', 'n', 'd');",
        )
    )
