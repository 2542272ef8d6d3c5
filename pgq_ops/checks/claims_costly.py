"""The chain, as one finding: claims are costly, because of dead rows, because of whoever keeps VACUUM from them.

    claims of public.jobs read 10,199 buffers (3 when healthy): 80,000 dead rows cannot be removed since 09:14 UTC,
    because session 4242 (report-job, user bi) has been idle in transaction for 42m

Without a holder it says why nobody has removed them. Where no dead rows explain the cost, the plan does, and
`claim-plan-changed` and `no-pending-index` tell that.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from pgq_ops.checks.accountable import accountable
from pgq_ops.checks.claim_toll import toll_of
from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.holder_words import evidence, holding
from pgq_ops.checks.horizon_held import MANY_XIDS
from pgq_ops.checks.leaf_words import numbers, vacuum
from pgq_ops.checks.left_rows import ROWS_A_TRANSACTION, are_let_go, left_most, letting_go
from pgq_ops.checks.pasted_sql import plain
from pgq_ops.checks.remedy_steps import steps
from pgq_ops.checks.wording import counted
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pgq_ops.checks.look import Look
    from pgq_ops.stats.horizon import Holder
    from pgq_ops.stats.table_health import LeafHealth, TableHealth

# Without a holder each claim marks the dead entries that it meets, so that fewer than these are soon passed over
# (postgres-facts.md: 1,406 pages at the first look and 195 at the second).
_MANY_ROWS = 5_000
# What is left to be named after the leaf with most of them.
_SHARE = 0.1
# After so many of autovacuum's rounds over the database it should have come.
_ROUNDS = 2

(CLAIMS_COSTLY,) = IDS = ("claims-costly",)
NEEDS = ("claim", "table", "horizon")


def check(look: Look) -> Iterator[Finding]:
    """Critical where claims are slow now, else a warning."""
    toll = toll_of(look)
    health = look.health
    if toll is None or health is None:
        return
    leaves = _buried(health)
    dead = health.dead_rows
    holder = _holder(look, leaves, dead)
    overlap = holder is None and _overlaps(look)
    if not toll.is_explained_by(dead) or (holder is None and not overlap and (dead or 0) < _MANY_ROWS):
        return
    rows = "dead rows (how many is not known)" if dead is None else counted(dead, "dead row")
    if holder is not None:
        since, sure = _since(health, holder), _is_sure(look, leaves, holder)
        which = f"cannot be removed{since}" if sure else f"are in the way, and what died{since} cannot be removed"
        why = f"{rows} {which}, because {holding(holder)}"
    elif overlap:
        why = f"{rows} cannot be removed, because short transactions overlap: there is always an old one"
    else:
        why = f"there are {rows} in the way{_left_alone(look, health, leaves)}"
    yield Finding(
        CLAIMS_COSTLY,
        Severity.CRITICAL if toll.slow else Severity.WARNING,
        f"claims of {look.table} {toll.in_words()}: {why}",
        {**toll.evidence(), **_evidence(look, leaves, holder)},
        _remedy(look, leaves, holder),
    )


def _buried(health: TableHealth) -> list[LeafHealth]:
    """The leaves with most of the dead rows, the worst first; all where that is not known."""
    ranked = sorted(health.leaves, key=lambda leaf: -(leaf.dead_rows or 0))
    most = (ranked[0].dead_rows or 0) if ranked else 0
    return [leaf for leaf in ranked if (leaf.dead_rows or 0) >= most * _SHARE]


def _holder(look: Look, leaves: Sequence[LeafHealth], dead: int | None) -> Holder | None:
    """Who keeps VACUUM from them: the oldest one, if it is known to, or has gone on for too long to be innocent."""
    holders = accountable(look)
    if not holders:
        return None
    oldest = holders[0]
    if are_let_go(look, leaves[0]):
        return None
    if any(_left_by_vacuum(look, leaf, oldest) for leaf in leaves):
        return oldest
    if oldest.xid_age * ROWS_A_TRANSACTION < (dead or 0):
        return None
    long = oldest.xid_age >= MANY_XIDS if oldest.seconds is None else oldest.seconds >= look.database.warn_after_seconds
    return oldest if long or oldest.state == "inactive" else None


def _left_by_vacuum(look: Look, leaf: LeafHealth, holder: Holder) -> bool:
    """Whether a vacuum has come since the holder began, and left most of the leaf's dead rows."""
    if look.health is None or leaf.last_vacuumed is None or holder.seconds is None:
        return False
    came_after = look.health.at - leaf.last_vacuumed <= holder.seconds
    return came_after and left_most(leaf) and not are_let_go(look, leaf)


def _is_sure(look: Look, leaves: Sequence[LeafHealth], holder: Holder) -> bool:
    """Whether a vacuum has shown that these rows are kept, or at least a transaction has come for each since."""
    dead = look.health.dead_rows if look.health is not None else None
    return holder.xid_age >= (dead or 0) or any(_left_by_vacuum(look, leaf, holder) for leaf in leaves)


def _overlaps(look: Look) -> bool:
    return look.database.horizon is not None and look.database.horizon.age_xids >= MANY_XIDS


def _since(health: TableHealth, holder: Holder) -> str:
    """` since 09:14 UTC`, with the date if it was another day."""
    if holder.seconds is None:
        return ""
    now, began = (datetime.fromtimestamp(at, UTC) for at in (health.at, health.at - holder.seconds))
    return f" since {began:%H:%M} UTC" if began.date() == now.date() else f" since {began:%Y-%m-%d %H:%M} UTC"


def _left_alone(look: Look, health: TableHealth, leaves: Sequence[LeafHealth]) -> str:
    """Why nobody has removed the dead rows of the worst leaf."""
    worst = leaves[0]
    if worst.vacuum_running:
        return ", and a vacuum is at work"
    if are_let_go(look, worst):
        return f" that the last vacuum could not remove: {letting_go(worst)}, so that VACUUM can remove them now"
    if not worst.autovacuum_enabled:
        return f", and autovacuum is off for {worst.relation}"
    if (worst.dead_rows or 0) <= worst.vacuum_threshold:
        return f", and autovacuum comes to {worst.relation} only at {round(worst.vacuum_threshold):,}"
    ago = None if worst.last_vacuumed is None else max(0.0, health.at - worst.last_vacuumed)
    round_seconds = health.server.naptime_seconds
    if not _is_late(worst, ago, round_seconds):
        return f", and autovacuum is due at {worst.relation}: it looks there every {format_duration(round_seconds)}"
    last = "no vacuum was ever seen there" if ago is None else f"the last vacuum was {format_duration(round(ago))} ago"
    return f", and autovacuum does not keep up with {worst.relation}: {last}"


def _is_late(leaf: LeafHealth, ago: float | None, round_seconds: float) -> bool:
    """Whether autovacuum should have come: by how long the rows have been there, else by the last vacuum."""
    if leaf.over_seconds is not None:
        return leaf.over_seconds >= _ROUNDS * round_seconds
    return ago is not None and ago >= round_seconds


def _evidence(look: Look, leaves: Sequence[LeafHealth], holder: Holder | None) -> dict[str, Any]:
    horizon = look.database.horizon
    return {
        "dead_rows": numbers(leaves, lambda leaf: leaf.dead_rows),
        "vacuum_thresholds": numbers(leaves, lambda leaf: round(leaf.vacuum_threshold)),
        "holder": None if holder is None else evidence([holder])[0],
        "age_xids": None if horizon is None else horizon.age_xids,
    }


def _remedy(look: Look, leaves: Sequence[LeafHealth], holder: Holder | None) -> str:
    """The holder's end, then a vacuum of the hot leaves, indexes included: claims step over the entries there."""
    command = vacuum(look, leaves, "INDEX_CLEANUP on")
    if holder is not None and _is_sure(look, leaves, holder):
        return steps(holder.remedy, command)
    if holder is not None:
        return steps(command, holder.remedy, then="only where that does not remove them, and before it is run again")
    if are_let_go(look, leaves[0]):
        return command
    late = [leaf for leaf in leaves if leaf.autovacuum_enabled and (leaf.dead_rows or 0) <= leaf.vacuum_threshold]
    sooner = [
        f"ALTER TABLE {plain(leaf.relation.sql)} SET"
        " (autovacuum_vacuum_scale_factor = 0, autovacuum_vacuum_threshold = 1000);"
        for leaf in late
    ]
    return "\n".join([command, *(["-- so that autovacuum comes sooner:", *sooner] if sooner else [])])
