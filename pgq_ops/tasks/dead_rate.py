"""How slowly retried jobs may come back: a rate that was mistyped must not hide jobs for years."""

from __future__ import annotations

import math
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

from pgq_ops.errors import UsageError
from pgq_ops.job_table.dead_place import dead_places
from pgq_ops.tasks.dead_pass import MOST_COUNTED, DeadPass
from pgq_ops.tasks.dead_tally import DeadTally
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from pgq_ops.job_table.table import JobTable

LONGEST_SPREAD = timedelta(days=30)
"""A judgement: who wants jobs back later than that can retry them later."""


def require_soon(jobs: int, rate: float) -> None:
    """Raise UsageError where at `rate` jobs a second (0: all at once) the last one comes back too late."""
    longest = LONGEST_SPREAD.total_seconds()
    if not rate or jobs <= rate * longest:
        return
    least = math.ceil(jobs / longest * 10_000) / 10_000
    raise UsageError(
        f"{jobs:,} jobs at --rate {rate:g} would come back over more than {format_duration(LONGEST_SPREAD)}:"
        f" give --rate {least:g} or more, or fewer jobs"
    )


def require_soon_enough(table: JobTable, going: DeadPass, rate: float) -> None:
    """Count what a pass means, where the rate is so low that it matters, and raise as `require_soon`.

    Also the errors of a plan.
    """
    if not rate or rate * LONGEST_SPREAD.total_seconds() >= MOST_COUNTED:
        return
    counted = replace(going, tally=DeadTally())
    for place in dead_places(table):
        counted.plan(place)
    require_soon(counted.tally.jobs, rate)
