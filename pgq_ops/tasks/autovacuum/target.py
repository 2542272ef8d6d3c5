"""After how many dead rows vacuum ought to come to a leaf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops.tasks.autovacuum import figures

if TYPE_CHECKING:
    from pgq_ops.stats.churn import Churn
    from pgq_ops.tasks.autovacuum.basis import Leaf

# For fewer dead rows a vacuum, which reads all of the indexes, is not worth its while: claims step over so many in
# some 100 pages (postgres-facts.md: 851 for 5,000).
LOWEST_ROWS = 500


@dataclass(frozen=True, slots=True)
class Target:
    """So many dead rows, and why. `measured`: by the churn, not for want of it.

    `overrun`: how many times the budget's dead rows come about between two visits, where that is more than once.
    """

    rows: int
    reason: str
    measured: bool = False
    overrun: float = 0.0


def target(leaf: Leaf) -> Target:
    """Churn x the time between two visits, at least 500 and at most the budget.

    A budget of less than 500 is somebody's wish, and holds. Without churn it is the smallest.
    """
    basis = leaf.basis
    lowest = min(LOWEST_ROWS, basis.budget_rows)
    if leaf.is_closed:
        return Target(lowest, "no new row comes here any more: the smallest, so that the last dead ones go")
    if basis.churn is None:
        return Target(lowest, "how fast rows die is not measured yet: the smallest")
    naptime = leaf.server.naptime_seconds
    dying = basis.churn.dying * naptime
    reckoned = f"{_dying(basis.churn)} {figures.TIMES} {figures.number(naptime)} s naptime"
    if dying <= lowest:
        return Target(lowest, f"{reckoned} = {figures.rows(dying)}: {figures.rows(lowest)} is the smallest", dying >= 1)
    if dying > basis.budget_rows:
        why = f" ({basis.budget_reason})" if basis.budget_reason else ""
        capped = f"{figures.rows(dying)}, capped by a budget of {figures.rows(basis.budget_rows)} dead rows{why}"
        rows = max(lowest, figures.rounded_down(basis.budget_rows))
        return Target(rows, f"{reckoned} = {capped}", measured=True, overrun=dying / basis.budget_rows)
    rows = max(lowest, figures.rounded_down(dying))
    return Target(rows, f"{reckoned}, within a budget of {figures.rows(basis.budget_rows)} dead rows", measured=True)


def _dying(churn: Churn) -> str:
    parts = [
        f"{figures.rate(value)} {noun}/s"
        for value, noun in ((churn.updated, "updates"), (churn.deleted, "deletes"))
        if value > 0
    ]
    return f"({' + '.join(parts)})" if len(parts) > 1 else "".join(parts) or "0 updates/s"
