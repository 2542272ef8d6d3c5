"""How many dead rows the claims of a job table can bear, and which part of them a leaf may have."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.stats import dead_row_budget
from pgq_ops.stats.dead_row_budget import DEFAULT_ROWS, Budget
from pgq_ops.tasks.autovacuum import figures
from pgq_ops.tasks.autovacuum.target import LOWEST_ROWS

if TYPE_CHECKING:
    from pgq_ops.config.maintenance import Autovacuum
    from pgq_ops.stats.observed import Observed

# What is nearly all of it is told as all of it.
_ALL = 0.98


def budget_of(section: Autovacuum, observed: Observed) -> Budget:
    """The job table's: as configured, else by what claims were seen to cost."""
    if section.dead_tuple_budget != "auto":
        return Budget(int(section.dead_tuple_budget), "as configured")
    if not observed.claims:
        return Budget(DEFAULT_ROWS, "by default: only a running agent sees what claims cost at how many dead rows")
    return dead_row_budget.derive(observed.claims)


def part_of(budget: Budget, observed: Observed, leaf: int) -> Budget:
    """A leaf's part, by its share of the rows that die: one claim steps over the dead rows of all leaves.

    It is not less than what is worth a vacuum, and all where nothing is known of the leaf.
    """
    churn = observed.churn.get(leaf)
    dying = sum(one.dying for one in observed.churn.values())
    if churn is None or dying <= 0:
        return budget
    share = churn.dying / dying
    rows = max(min(LOWEST_ROWS, budget.rows), round(budget.rows * share))
    if share >= _ALL or rows == budget.rows:
        return budget
    return Budget(rows, f"{share:.0%} of all that dies here, of {figures.rows(budget.rows)}; {budget.reason}")
