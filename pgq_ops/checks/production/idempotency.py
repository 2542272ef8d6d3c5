"""A job that was requeued may have run twice, and only its own code knows whether that does harm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.verdict import found, passed, unknown
from pgq_ops.checks.wording import counted
from pgq_ops.stats import requeued_lately

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "jobs-may-run-twice"
TITLE = "No job may have run twice lately"

_QUERY = (
    "SELECT at, job, queue, owner, attempt FROM pgq_ops.reap_log WHERE table_oid = {oid} AND outcome = 'requeued'"
    " AND at > now() - interval '24 h' ORDER BY at DESC LIMIT 100;"
)


def check(examination: Examination) -> Verdict:
    """Only info: whether jobs are idempotent cannot be checked from outside."""
    requeued = examination.fact(requeued_lately.read)
    if requeued is None:
        return unknown("jobs that were requeued are recorded only in the pgq_ops schema", "pgq-ops install")
    if not requeued.jobs:
        return passed("none was requeued in 24 h")
    number = ("at least " if requeued.at_least else "") + counted(requeued.jobs, "job")
    return found(
        Finding(
            ID,
            Severity.INFO,
            f"{number} of {examination.table} requeued in 24 h may have run twice; whether jobs are idempotent"
            " cannot be checked from here",
            {"requeued": requeued.jobs, "at_least": requeued.at_least},
            _QUERY.format(oid=examination.table.relation.oid),
        )
    )
