"""How fast autovacuum works on a leaf: faster where its visits, as measured, take too much of the time between them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.tasks.autovacuum import figures
from pgq_ops.tasks.autovacuum.leaf_plan import Wanted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.tasks.autovacuum.basis import Leaf
    from pgq_ops.tasks.autovacuum.target import Target

LIMIT, DELAY = "autovacuum_vacuum_cost_limit", "autovacuum_vacuum_cost_delay"

# One visit may be chance.
_FEWEST_RUNS = 3
# While a vacuum is at work rows go on dying: half of the time between visits and the dead rows are half as many again.
_TOO_LONG_SHARE = 0.5
# What it is to come down to, so that it is not too long again at the next busy hour.
_WANTED_SHARE = 0.25
# At 2 ms 2,000 points are 500,000 pages a second that are read from the cache: nothing waits for the delay any more,
# and a disk is the limit. PostgreSQL takes 10,000.
_HIGHEST_LIMIT = 2_000


def cost(leaf: Leaf, target: Target) -> Iterator[Wanted]:
    """The cost limit, and where that is at its end the delay; nothing where visits are quick, or nobody knows.

    A table with a cost setting of its own leaves the budget that the server's workers share.
    """
    runs, churn = leaf.basis.runs, leaf.basis.churn
    if runs.seconds is None or runs.count < _FEWEST_RUNS or churn is None or churn.dying <= 0 or leaf.is_closed:
        return
    interval = max(leaf.server.naptime_seconds, target.rows / churn.dying)
    delay, limit = _in_force(leaf, DELAY), _in_force(leaf, LIMIT)
    if runs.seconds <= _TOO_LONG_SHARE * interval or delay <= 0:
        return
    times = runs.seconds / (_WANTED_SHARE * interval)
    measured = (
        f"vacuums take {figures.number(round(runs.seconds, 1))} s of the {figures.number(round(interval, 1))} s between"
        f" them, at {figures.number(limit)} points each {figures.number(delay)} ms"
    )
    if limit < _HIGHEST_LIMIT:
        wanted = min(_HIGHEST_LIMIT, max(figures.rounded_up(limit * times), round(limit)))
        reason = f"{measured}; with a limit of its own the table leaves the budget that the server's workers share"
        yield Wanted(LIMIT, str(wanted), reason, leaf.now(LIMIT))
    else:
        yield Wanted(DELAY, "0", f"{measured}, and a higher limit would not help", leaf.now(DELAY))


def _in_force(leaf: Leaf, parameter: str) -> float:
    """The table's own value, whosever, else the server's; -1 on the table stands for the server's too."""
    now = leaf.now(parameter)
    own = -1.0 if now is None else figures.as_number(now)
    return own if own >= 0 else leaf.basis.parameters.number(parameter)
