"""Has autovacuum come after a number of rows, by threshold and scale factor together.

Ours is a threshold alone, so that it does not rise with the finished jobs. What was chosen for the table is left where
it is stricter; what pgq-ops set, where it is near.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pgq_ops.tasks.autovacuum import due, figures, hysteresis
from pgq_ops.tasks.autovacuum.due import HIGHEST
from pgq_ops.tasks.autovacuum.leaf_plan import Wanted

if TYPE_CHECKING:
    from pgq_ops.tasks.autovacuum.basis import Leaf
    from pgq_ops.tasks.autovacuum.due import Due, Trigger

# PostgreSQL's own threshold: below it autovacuum would come for nothing.
_LEAST = 50
MOST = 2_000_000_000
"""PostgreSQL takes some more."""


@dataclass(frozen=True, slots=True)
class Aim:
    """So many rows, and why. `measured`: it is by a measurement; else what pgq-ops set by one before is left.

    `floor`, `ceiling`: what pgq-ops set is not left below or above it.
    """

    rows: int
    reason: str
    measured: bool = True
    floor: float = 0.0
    ceiling: float = math.inf


@dataclass(frozen=True, slots=True)
class Settled:
    """What is to be set, and the number of rows after which autovacuum comes then."""

    wanted: tuple[Wanted, ...]
    rows: float


def settle(leaf: Leaf, trigger: Trigger, aim: Aim) -> Settled:
    """What brings autovacuum there after so many rows, and is never looser than what was chosen for the table."""
    aim = replace(aim, rows=min(aim.rows, MOST))
    chosen = due.chosen(leaf, trigger)
    untouched = due.is_theirs(leaf, trigger)
    if chosen is not None and chosen.at(leaf.rows) < aim.rows:
        if chosen.at_most > aim.rows and untouched and due.can_be_capped(leaf, trigger):
            return _capped(leaf, trigger, aim, chosen)
        if untouched:
            keeps = f"{chosen.whose} is stricter: {chosen.said(leaf.rows)}"
            return Settled(_left(leaf, trigger, aim, keeps), chosen.at(leaf.rows))
        rows = max(min(_LEAST, aim.rows), figures.rounded_down(chosen.at(leaf.rows)))
        reason = f"as strict as {chosen.whose} before: {chosen.said(leaf.rows)}"
        aim = Aim(rows, reason, ceiling=chosen.at(leaf.rows))
    elif chosen is not None and chosen.threshold < aim.rows and untouched and due.can_be_capped(leaf, trigger):
        return _capped(leaf, trigger, aim, chosen)
    threshold = _number(leaf, trigger.threshold, aim)
    before = due.before(leaf, trigger)
    would_be = f"{before.said(leaf.rows)} {trigger.what}" if before.scale else "a share of the table's rows"
    scale = _zero(leaf, trigger.scale, f"else it is {would_be}, rising with the finished jobs")
    return Settled((threshold, scale), _in_force(threshold))


def _in_force(wanted: Wanted) -> float:
    return figures.as_number(wanted.now if wanted.keeps and wanted.now is not None else wanted.value)


def _left(leaf: Leaf, trigger: Trigger, aim: Aim, keeps: str) -> tuple[Wanted, ...]:
    threshold = Wanted(trigger.threshold, str(aim.rows), aim.reason, leaf.now(trigger.threshold), keeps)
    scale = _zero(leaf, trigger.scale, aim.reason)
    return threshold, Wanted(scale.parameter, scale.value, scale.reason, scale.now, keeps if scale.differs else "")


def _capped(leaf: Leaf, trigger: Trigger, aim: Aim, chosen: Due) -> Settled:
    """The highest threshold does it, and what was chosen goes on to hold while the table is small."""
    highest = _number(leaf, HIGHEST, aim)
    rows = min(_in_force(highest), chosen.threshold + chosen.scale * leaf.rows)
    keeps = f"{chosen.whose} holds while it is stricter: {chosen.said(leaf.rows)}"
    return Settled((*_left(leaf, trigger, aim, keeps), highest), rows)


def _number(leaf: Leaf, parameter: str, aim: Aim) -> Wanted:
    now, value = leaf.now(parameter), str(aim.rows)
    if now is None:
        return Wanted(parameter, value, aim.reason)
    number = figures.as_number(now)
    if number == aim.rows:
        return Wanted(parameter, now, aim.reason, now)
    keeps = ""
    if leaf.is_ours(parameter) and aim.floor <= number <= aim.ceiling:
        if not aim.measured:
            keeps = "set by pgq-ops, by what it had measured"
        elif hysteresis.is_near(number, aim.rows):
            keeps = f"set by pgq-ops, and less than {hysteresis.FACTOR} times off"
    return Wanted(parameter, value, aim.reason, now, keeps)


def _zero(leaf: Leaf, parameter: str, reason: str) -> Wanted:
    """A scale factor of nothing, however it is written."""
    now = leaf.now(parameter)
    return Wanted(parameter, now if now is not None and figures.as_number(now) == 0 else "0", reason, now)
