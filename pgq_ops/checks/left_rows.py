"""Dead rows that the last vacuum could not remove, and whether whoever kept them then still does."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.holder_words import named

if TYPE_CHECKING:
    from pgq_ops.checks.look import Look
    from pgq_ops.stats.horizon import Holder
    from pgq_ops.stats.table_health import LeafHealth

# Of what a transaction changes, 1,000 rows are a large batch: so many dead rows at most it took to make one of them
# older. A holder behind which fewer transactions lie came after these dead rows.
ROWS_A_TRANSACTION = 1_000


def left_most(leaf: LeafHealth) -> bool:
    """Whether the last vacuum left most of the leaf's dead rows."""
    return leaf.outcome is not None and leaf.outcome.left_rows * 2 >= (leaf.dead_rows or 0) > 0


def are_let_go(look: Look, leaf: LeafHealth) -> bool:
    """Whether most of the leaf's dead rows were left for somebody who holds them no more: the next vacuum removes them.

    Whoever is the oldest holder now is innocent of what another, older one kept from the last vacuum.
    """
    horizon = look.database.horizon
    if leaf.outcome is None or not left_most(leaf) or horizon is None or not horizon.visible:
        return False
    if not horizon.holders:
        return True
    keeper = keeper_of(leaf)
    return keeper is not None and not _same(keeper, horizon.holders[0])


def keeper_of(leaf: LeafHealth) -> Holder | None:
    """Who kept them from the last vacuum, where that is known."""
    if leaf.outcome is None or leaf.outcome.under is None:
        return None
    keeper = leaf.outcome.under
    return keeper if keeper.xid_age * ROWS_A_TRANSACTION >= leaf.outcome.left_rows else None


def letting_go(leaf: LeafHealth) -> str:
    """A clause such as `session 4242 (report-job, user bi) kept them then, and has let go`."""
    keeper = keeper_of(leaf)
    return "whoever kept them then has let go" if keeper is None else f"{named(keeper)} kept them then, and has let go"


def _same(one: Holder, other: Holder) -> bool:
    return (one.kind, one.pid, one.name, one.started) == (other.kind, other.pid, other.name, other.started)
