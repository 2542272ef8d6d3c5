"""This machine's clock agrees with the database's."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.verdict import found, passed
from pgq_ops.stats import clock_skew as skews
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "clock-skew"
TITLE = "This machine's clock agrees with the database's"

# Time services keep machines within milliseconds; a lease check by a worker's own clock errs by this much.
_MOST_SECONDS = 2.0


def check(examination: Examination) -> Verdict:
    """Info: pgq-ops goes by the database's clock alone, but workers beside it may not."""
    skew = examination.fact(skews.read)
    if abs(skew.ahead_seconds) <= _MOST_SECONDS + skew.error_seconds:
        return passed(
            f"{abs(skew.ahead_seconds) * 1000:.0f} ms apart, give or take {skew.error_seconds * 1000:.0f} ms; the"
            " workers' own machines are not seen from here"
        )
    which = "ahead of" if skew.ahead_seconds > 0 else "behind"
    return found(
        Finding(
            ID,
            Severity.INFO,
            f"this machine's clock is {format_duration(abs(skew.ahead_seconds))} {which} the database's: pgq-ops does"
            " not mind, a worker here that compares leases with its own clock does",
            {"ahead_seconds": round(skew.ahead_seconds, 3), "error_seconds": round(skew.error_seconds, 3)},
            "timedatectl timesync-status",
        )
    )
