"""A lease that is extended only just before its end is lost with the first heartbeat that is late."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.mapping_advice import column_section
from pgq_ops.checks.production.verdict import found, not_applicable, passed, unknown
from pgq_ops.stats import lease_margins
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "late-heartbeats"
TITLE = "Leases are extended well before they end"

# Of fewer leases at one moment the times between heartbeats cannot be told.
_FEWEST = 20


def check(examination: Examination) -> Verdict:
    """A warning where the time left, grace included, is shorter than the time between two heartbeats.

    By all live leases at one moment: the longest was extended just now (a heartbeat's has its timeout), the shortest
    ones are about to be. Where some have expired, workers have died, and what is left of their other leases says
    nothing.
    """
    table = examination.table
    if "lease_expires_at" not in table.fields and "heartbeat_at" not in table.fields:
        return not_applicable("no column that a heartbeat would write is mapped")
    unclear = _unclear(examination)
    if unclear:
        return unknown(unclear)
    margins = examination.fact(lease_margins.read)
    if margins.leases < _FEWEST or margins.longest_seconds is None or margins.usual_seconds is None:
        return unknown(f"{margins.leases} live leases at one moment are too few; {_FEWEST} would tell")
    lease = table.policies[0].lease
    grace = lease.grace.total_seconds()
    whole = margins.longest_seconds if lease.timeout is None else lease.timeout.total_seconds()
    between = whole - margins.usual_seconds
    left = margins.usual_seconds + grace
    said = f"{format_duration(left)} of {format_duration(whole + grace)} are left"
    if left >= between:
        return passed(f"{said} to nine in ten of {margins.leases:,} leases, grace included")
    return found(
        Finding(
            ID,
            Severity.WARNING,
            f"when leases of {table} are extended only {said} (grace included): one heartbeat that is late, or one job"
            " that is longer, and a second worker gets the job",
            {
                "leases": margins.leases,
                "left_seconds": round(left, 1),
                "between_heartbeats_seconds": round(between, 1),
                "grace_seconds": grace,
            },
            f"# shorter heartbeats, or a longer lease, in the workers; meanwhile:\n{column_section(table, 'lease')}\n"
            f'grace = "{round(2 * between - margins.usual_seconds) + 1}s"',
        )
    )


def _unclear(examination: Examination) -> str:
    """Why the live leases of one moment would not tell; empty if they do."""
    leases = examination.look.leases
    if len(examination.table.policies) > 1:
        return "queues have leases of their own, which one look cannot tell apart"
    if leases is None:
        return f"the leases could not be read{examination.why_not('leases')}"
    if leases.total("expired") or leases.total("stale"):
        return "leases have expired just now, whose workers are gone: those of others may be theirs too"
    return ""
