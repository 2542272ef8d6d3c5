"""Without a lease nothing tells a job whose worker died from one that is worked on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.mapping_advice import column_section, with_new_column
from pgq_ops.checks.production.verdict import found, not_applicable, passed

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "no-lease"
TITLE = "a lease is mapped"

_FIELDS = ("lease_expires_at", "heartbeat_at", "leased_at")


def check(examination: Examination) -> Verdict:
    """A warning, also where a heartbeat or claim time is mapped and no timeout says what it is worth."""
    table = examination.table
    if "running" not in table.states:
        return not_applicable("no state is mapped as running")
    mapped = [name for name in _FIELDS if name in table.fields]
    if not mapped:
        return found(
            Finding(
                ID,
                Severity.WARNING,
                f"nothing tells when a claim on a job of {table} is void: the job of a worker that died stays running",
                {"mapped": []},
                with_new_column(table, "lease_expires_at", "lease_until", "timestamptz"),
            )
        )
    untimed = [policy.queue for policy in table.policies if policy.lease.timeout is None]
    if "lease_expires_at" not in table.fields and untimed:
        return found(
            Finding(
                ID,
                Severity.WARNING,
                f"{mapped[0]} of {table} is mapped, and no lease.timeout says after how long a claim is void",
                {"mapped": mapped},
                f'{column_section(table, "lease")}\ntimeout = "5m"  # longer than a job goes without a sign of life',
            )
        )
    return passed(", ".join(mapped))
