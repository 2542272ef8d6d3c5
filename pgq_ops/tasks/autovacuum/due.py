"""After how many rows autovacuum comes: by a threshold and a scale factor, which hold together.

PostgreSQL comes at threshold + scale factor x the table's rows; for dead rows, from 18 on, at the highest threshold at
the latest (autovacuum.c, relation_needs_vacanalyze).
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops.tasks.autovacuum import figures

if TYPE_CHECKING:
    from pgq_ops.tasks.autovacuum.basis import Leaf

HIGHEST = "autovacuum_vacuum_max_threshold"


@dataclass(frozen=True, slots=True)
class Trigger:
    """The two parameters, and what autovacuum counts, for people. `highest`: that `HIGHEST` holds for it."""

    threshold: str
    scale: str
    what: str
    highest: bool = False


DEAD_ROWS = Trigger("autovacuum_vacuum_threshold", "autovacuum_vacuum_scale_factor", "dead rows", highest=True)
INSERTS = Trigger("autovacuum_vacuum_insert_threshold", "autovacuum_vacuum_insert_scale_factor", "inserted rows")
CHANGES = Trigger("autovacuum_analyze_threshold", "autovacuum_analyze_scale_factor", "changed rows")


@dataclass(frozen=True, slots=True)
class Due:
    """When autovacuum comes by certain values; `highest` below 0: none. `whose`: who chose them, for people."""

    threshold: float
    scale: float
    highest: float = -1.0
    whose: str = ""

    def at(self, rows: float) -> float:
        """For a table of so many rows."""
        due = self.threshold + self.scale * rows
        return due if self.highest < 0 else min(due, self.highest)

    @property
    def at_most(self) -> float:
        """For a table of whatever size."""
        return self.at(math.inf) if self.scale else self.at(0)

    def said(self, rows: float) -> str:
        """In words, for a table of so many rows: `50 + 0.2 x 10,000 rows = 2,050`."""
        if not self.scale:
            return figures.number(self.at(rows))
        share = f"{figures.number(self.scale)} {figures.TIMES} {figures.rows(rows)} rows"
        capped = f", at most {figures.number(self.highest)}," if self.at(rows) == self.highest else ""
        return f"{figures.number(self.threshold)} + {share}{capped} = {figures.rows(self.at(rows))}"


def is_theirs(leaf: Leaf, trigger: Trigger) -> bool:
    """Whether none of both is as pgq-ops set it, or somebody has changed one since, who saw the other one."""
    both = (trigger.threshold, trigger.scale)
    return any(map(leaf.is_changed_since, both)) or not any(map(leaf.is_ours, both))


def before(leaf: Leaf, trigger: Trigger) -> Due:
    """By all that is not pgq-ops' doing: the DBA's parameters, else the server's settings."""
    return _by(leaf, trigger, *_own(leaf, trigger))


def chosen(leaf: Leaf, trigger: Trigger) -> Due | None:
    """By what somebody chose, for the table or for all of the server; None where PostgreSQL's own values hold.

    A scale factor for all of the server is no choice for this table.
    """
    own = _own(leaf, trigger)
    if any(value is not None for value in own):
        return _by(leaf, trigger, *own, whose="the table's own")
    for_all = _by(leaf, trigger, None, None, None, whose="the server's own")
    is_chosen = {trigger.threshold, trigger.scale, HIGHEST} & leaf.basis.parameters.chosen
    return for_all if is_chosen and not for_all.scale else None


def can_be_capped(leaf: Leaf, trigger: Trigger) -> bool:
    """Whether `HIGHEST` is there, and holds for it."""
    return trigger.highest and leaf.basis.parameters.has_highest_threshold


def _own(leaf: Leaf, trigger: Trigger) -> tuple[str | None, str | None, str | None]:
    highest = leaf.own(HIGHEST) if can_be_capped(leaf, trigger) else None
    value = leaf.now if is_theirs(leaf, trigger) else leaf.own
    return value(trigger.threshold), value(trigger.scale), highest


def _by(  # noqa: PLR0913 (a value each)
    leaf: Leaf, trigger: Trigger, threshold: str | None, scale: str | None, highest: str | None, *, whose: str = ""
) -> Due:
    def number(name: str, own: str | None) -> float:
        return leaf.basis.parameters.number(name) if own is None else figures.as_number(own)

    most = number(HIGHEST, highest) if can_be_capped(leaf, trigger) else -1.0
    return Due(number(trigger.threshold, threshold), number(trigger.scale, scale), most, whose)
