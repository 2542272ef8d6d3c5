"""Without a lease nothing tells a job whose worker died from one that is worked on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.mapping_advice import with_new_column
from pgq_ops.checks.production.verdict import found, passed

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.job_table.table import JobTable

ID = "no-lease"
TITLE = "A lease is mapped"

_FIELDS = ("lease_expires_at", "heartbeat_at", "leased_at")


def check(examination: Examination) -> Verdict:
    """A warning; a heartbeat or claim time without lease.timeout is refused by the configuration."""
    table = examination.table
    mapped = [name for name in _FIELDS if name in table.fields]
    if mapped:
        return passed(", ".join(mapped) + _uncounted(table))
    return found(
        Finding(
            ID,
            Severity.WARNING,
            f"nothing tells when a claim on a job of {table} is void: the job of a worker that died stays running",
            {"looked_for": list(_FIELDS)},
            with_new_column(table, "lease_expires_at", "lease_until", "timestamptz"),
        )
    )


def _uncounted(table: JobTable) -> str:
    """What is set and counts from nothing."""
    if "leased_at" in table.fields or all(policy.lease.max_runtime is None for policy in table.policies):
        return ""
    return "; lease.max_runtime finds no job that runs too long: it counts from leased_at, which is not mapped"
