"""When autovacuum ought to come to a leaf: for dead rows, for inserted ones, and to analyze it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pgq_ops.tasks.autovacuum import due, figures
from pgq_ops.tasks.autovacuum.leaf_plan import Wanted
from pgq_ops.tasks.autovacuum.settle import Aim, Settled, settle

if TYPE_CHECKING:
    from pgq_ops.tasks.autovacuum.basis import Leaf
    from pgq_ops.tasks.autovacuum.target import Target

# Where only inserts or statistics call for it, one visit in ten is enough: of rows that live, no claim has to step
# over any, and an analyze reads up to 30,000 pages.
_VISITS = 10
# PostgreSQL's own threshold for inserts.
_LOWEST_INSERTS = 1_000
_LOWEST_CHANGES = 500


def aim(leaf: Leaf, target: Target) -> Aim:
    """The target, and above what an earlier one is not left: a budget that somebody set, and where all is over."""
    ceiling = target.rows if leaf.is_closed else max(leaf.basis.ceiling, target.rows)
    return Aim(target.rows, target.reason, target.measured, ceiling=ceiling)


def dead_rows(leaf: Leaf, target: Aim) -> Settled:
    """The threshold that all of this is about."""
    return settle(leaf, due.DEAD_ROWS, target)


def inserts(leaf: Leaf, dead: float) -> Settled:
    """Never before the dead rows (`dead`) call for it: a visit for inserts alone would be one more."""
    if due.before(leaf, due.INSERTS).threshold < 0:
        return _no_inserts(leaf)
    lowest = max(_LOWEST_INSERTS, figures.rounded_up(dead))
    churn = leaf.basis.churn
    if churn is None or leaf.is_closed:
        why = "no new row comes here any more" if leaf.is_closed else "how fast rows come is not measured yet"
        return settle(leaf, due.INSERTS, Aim(lowest, f"{why}: the smallest", leaf.is_closed, floor=lowest))
    seconds = _VISITS * leaf.server.naptime_seconds
    rows = churn.inserted * seconds
    reason = f"{figures.rate(churn.inserted)} inserts/s {figures.TIMES} {figures.number(seconds)} s"
    if rows <= lowest:
        smallest = f"{reason} = {figures.rows(rows)}: {figures.rows(lowest)} is the smallest"
        return settle(leaf, due.INSERTS, Aim(lowest, smallest, measured=rows >= 1, floor=lowest))
    reason = f"{reason}, so that inserts alone call for one visit in {_VISITS}"
    return settle(leaf, due.INSERTS, Aim(max(lowest, figures.rounded_down(rows)), reason, floor=lowest))


def changes(leaf: Leaf) -> Settled:
    """For the planner, which has to know how many jobs are in which state; no later than PostgreSQL would come."""
    churn = leaf.basis.churn
    if churn is None or leaf.is_closed:
        why = "nothing much changes here any more" if leaf.is_closed else "how fast rows change is not measured yet"
        return settle(leaf, due.CHANGES, Aim(_LOWEST_CHANGES, f"{why}: the smallest", leaf.is_closed))
    seconds = _VISITS * leaf.server.naptime_seconds
    changed = (churn.inserted + churn.dying) * seconds
    per_second = figures.rate(churn.inserted + churn.dying)
    reason = f"{per_second} changes/s {figures.TIMES} {figures.number(seconds)} s = {figures.rows(changed)}"
    before = due.before(leaf, due.CHANGES)
    most = before.at(leaf.rows)
    rows = min(changed, most)
    if rows <= _LOWEST_CHANGES:
        smallest = f"{reason}: {figures.rows(_LOWEST_CHANGES)} is the smallest"
        if rows == most:
            smallest = f"{_LOWEST_CHANGES} is the smallest; PostgreSQL would come at {before.said(leaf.rows)}"
        return settle(leaf, due.CHANGES, Aim(_LOWEST_CHANGES, smallest, measured=changed >= 1))
    if rows == most:
        reason = f"{reason}, and no later than by {before.said(leaf.rows)}"
    return settle(leaf, due.CHANGES, Aim(max(_LOWEST_CHANGES, figures.rounded_down(rows)), reason))


def _no_inserts(leaf: Leaf) -> Settled:
    """Somebody chose that inserts call for no visit."""
    lowest = str(_LOWEST_INSERTS)
    now = leaf.now(due.INSERTS.threshold)
    keeps = "somebody chose that autovacuum does not come for inserts (-1)"
    return Settled((Wanted(due.INSERTS.threshold, lowest, "the smallest", now, keeps),), math.inf)
