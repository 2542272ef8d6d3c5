"""Dead rows that VACUUM has to keep, and for whom."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.accountable import accountable
from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.holder_words import evidence, holding, remedies
from pgq_ops.checks.wording import counted
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pgq_ops.checks.look import Look
    from pgq_ops.stats.horizon import Holder

# A job takes about three transactions (insert, claim, complete) and leaves one dead entry before the next claim. With
# 5,000 of them a claim reads 851 pages, with 20,000 some 4,240 (postgres-facts.md). So 1,000 transactions cost a claim
# about 50 pages, which is what it may read (performance.md), and 100,000 some thousands.
FELT_XIDS, MANY_XIDS = 1_000, 100_000

_WHO = (
    "-- who they are, the oldest first:\n"
    "SELECT pid, usename, application_name, state, xact_start, greatest(age(backend_xid), age(backend_xmin)) AS xids\n"
    "FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()\n"
    "AND (backend_xid IS NOT NULL OR backend_xmin IS NOT NULL) ORDER BY xids DESC;"
)

(HORIZON_HELD,) = IDS = ("horizon-held",)
NEEDS = ("horizon",)


def check(look: Look) -> Iterator[Finding]:
    """Warning: claims step over what VACUUM has to keep."""
    horizon, limit = look.database.horizon, look.database.warn_after_seconds
    felt = _felt(look)
    if horizon is None or not felt:
        return
    numbers = {"age_xids": horizon.age_xids, "limit_seconds": limit}
    if guilty := guilty_of(look):
        more = f"; {counted(len(guilty) - 1, 'other')} would keep it too" if len(guilty) > 1 else ""
        yield Finding(
            HORIZON_HELD,
            Severity.WARNING,
            f"{_kept(guilty[0].xid_age)}, because {holding(guilty[0])}{more}",
            {**numbers, "holding": len(guilty), "holders": evidence(guilty)},
            remedies(guilty),
        )
    elif horizon.age_xids >= MANY_XIDS:
        yield Finding(
            HORIZON_HELD,
            Severity.WARNING,
            f"{_kept(horizon.age_xids)}, though nobody has held it back for more than {format_duration(limit)}: short"
            f" transactions overlap ({len(felt)} now; {holding(felt[0])})",
            {**numbers, "holding": len(felt), "holders": evidence(felt)},
            _WHO,
        )


def guilty_of(look: Look) -> list[Holder]:
    """Those who keep much and go on for too long, the oldest first; not whoever only runs a statement now."""
    return _guilty(_felt(look), look.database.warn_after_seconds)


def _felt(look: Look) -> list[Holder]:
    return [holder for holder in accountable(look) if holder.xid_age >= FELT_XIDS]


def _kept(xids: int) -> str:
    return f"VACUUM has to keep what died in the last {counted(xids, 'transaction')}"


def _guilty(felt: Sequence[Holder], limit_seconds: float) -> list[Holder]:
    """Those that go on for too long; of those that are not known since when, also whoever began before one of them."""
    writing = max((holder.xid_age for holder in felt if holder.wrote), default=0)
    long = [one for one in felt if _goes_on(one, limit_seconds) and not (_may_be_new(one) and one.xid_age <= writing)]
    since = min((one.xid_age for one in long), default=MANY_XIDS)
    return [one for one in felt if one in long or (one.seconds is None and one.xid_age > since)]


def _may_be_new(holder: Holder) -> bool:
    """Whether its snapshot may be that of the statement at hand, and only as old as whoever was writing by then."""
    return holder.state == "active" and not holder.wrote


def _goes_on(holder: Holder, limit_seconds: float) -> bool:
    """Whether it has for too long; where that is not known: whether it holds much, or will not end by itself."""
    if holder.seconds is not None:
        return holder.seconds > limit_seconds
    return holder.xid_age >= MANY_XIDS or (holder.kind == "slot" and holder.state == "inactive")
