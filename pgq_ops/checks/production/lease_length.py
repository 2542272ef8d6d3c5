"""A job that runs longer than its lease is given to a second worker while the first one still works on it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.mapping_advice import column_section
from pgq_ops.checks.production.verdict import found, not_applicable, passed, unknown
from pgq_ops.checks.wording import counted
from pgq_ops.stats import recent_run_times
from pgq_ops.stats.index_support import Question
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.stats.recent_run_times import RunTimes

ID = "lease-too-short"
TITLE = "The lease outlasts the jobs"

# A lease that is this much longer than the longest job seen leaves room for a longer one.
_ROOM = 2


def check(examination: Examination) -> Verdict:
    """A warning where leases count from the claim alone and jobs of the last day ran longer."""
    table, look = examination.table, examination.look
    if not table.has_lease:
        return not_applicable("no lease is mapped")
    if "lease_expires_at" in table.fields or "heartbeat_at" in table.fields:
        return not_applicable("workers can extend their leases; how close to the end they do is a point of its own")
    if look.support is None or Question.FINISHED not in look.support.serving:
        which = "how long jobs run is known where finished_at is mapped, and an index leads to the last ones"
        return unknown(which + examination.why_not("indexes"))
    ran = examination.fact(recent_run_times.read)
    if ran.longest_seconds is None:
        return unknown("no job is known to have finished within a day")
    longest = format_duration(ran.longest_seconds)
    if not ran.longer:
        return passed(f"the longest of the last {counted(ran.jobs, 'job')} ran {longest}")
    return found(
        Finding(
            ID,
            Severity.WARNING,
            f"{counted(ran.longer, 'job')} of the last {ran.jobs:,} of {table} ran longer than the lease, up to"
            f" {longest}: {'it was' if ran.longer == 1 else 'they were'} given to a second worker meanwhile",
            {"jobs": ran.jobs, "longer": ran.longer, "longest_seconds": round(ran.longest_seconds, 1)},
            _remedy(examination, ran),
        )
    )


def _remedy(examination: Examination, ran: RunTimes) -> str:
    seconds = round((ran.longest_seconds or 0) * _ROOM) + 1
    return f'{column_section(examination.table, "lease")}\ntimeout = "{seconds}s"  # or have the workers extend it'
