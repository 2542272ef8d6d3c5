"""The settings of a TOAST table that outgrew its table: large payloads.

Without any of its own a TOAST table is under those of its table (autovacuum.c, table_toast_map), so that it is
vacuumed after so many dead pieces as there may be dead rows, each time with all of its index. With one of its own it is
under none of them any more: so all that is set on the table is carried over.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, TypeVar

from pgq_ops.tasks.autovacuum import due, figures
from pgq_ops.tasks.autovacuum.derive_cost import DELAY, LIMIT
from pgq_ops.tasks.autovacuum.derive_freeze import PARAMETERS as FREEZING
from pgq_ops.tasks.autovacuum.derive_switches import TRUNCATE, switch
from pgq_ops.tasks.autovacuum.leaf_plan import Wanted
from pgq_ops.tasks.autovacuum.settable import TOAST
from pgq_ops.tasks.autovacuum.settle import MOST, Aim, settle

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pgq_ops.tasks.autovacuum.basis import Leaf

Value = TypeVar("Value", str, str | None)

# Smaller ones are vacuumed at once.
_LARGE_BYTES = 64 * 2**20
# Long values are stored in pieces, four of them a page (TOAST_TUPLES_PER_PAGE).
_PIECES_A_PAGE = 4
CARRIED = (
    DELAY,
    LIMIT,
    *FREEZING,
    "autovacuum_freeze_max_age",
    "autovacuum_multixact_freeze_min_age",
    "autovacuum_multixact_freeze_max_age",
    "autovacuum_multixact_freeze_table_age",
)
ENABLED = "autovacuum_enabled"


def toast(leaf: Leaf, wanted: tuple[Wanted, ...], dead: Aim, inserts: float) -> Iterator[Wanted]:
    """`wanted`: what is to be set on the table itself, by `dead`, and vacuumed after `inserts` rows at the latest.

    Nothing where the TOAST table is off with its table: one setting of its own would switch it on.
    """
    heap = leaf.health.table_bytes - leaf.health.toast_bytes
    if not leaf.storage.toast or leaf.health.toast_bytes < max(_LARGE_BYTES, heap) or not leaf.most_rows:
        return
    inherits = not any(leaf.own(name) for name in leaf.storage.parameters if name.startswith(TOAST))
    will_be = {**leaf.storage.parameters, **{one.parameter: one.value for one in wanted if one.differs}}
    if inherits and figures.as_switch(will_be.get(ENABLED, "on")) == "off":
        return
    pieces = leaf.health.toast_bytes / leaf.server.page_bytes * _PIECES_A_PAGE
    each = max(1.0, pieces / leaf.most_rows)
    own = _of_toast(leaf, pieces)
    what = f"{leaf.health.toast_bytes / 2**20:,.0f} MB of long values, {figures.number(round(each, 1))} pieces a row:"
    aim = replace(dead, rows=_pieces(dead.rows, each), reason=f"{what} those of {figures.rows(dead.rows)} dead rows")
    parts = [*settle(own, due.DEAD_ROWS, replace(aim, ceiling=dead.ceiling * each)).wanted]
    if inserts < MOST and due.before(own, due.INSERTS).threshold >= 0:
        reason = f"{what} those of {figures.rows(inserts)} inserted rows"
        parts += settle(own, due.INSERTS, Aim(_pieces(inserts, each), reason, dead.measured, floor=aim.rows)).wanted
    if leaf.basis.parameters.truncates or own.now(TRUNCATE) is not None:
        parts.append(switch(own, TRUNCATE, "off", "as on its table: cutting off empty pages locks out all claims"))
    if inherits:
        parts += _carried(own, will_be)
    yield from (replace(one, parameter=TOAST + one.parameter) for one in parts)


def _of_toast(leaf: Leaf, pieces: float) -> Leaf:
    """The TOAST table as if it were a table."""
    storage = replace(leaf.storage, parameters=_stripped(leaf.storage.parameters), toast=False)
    basis = replace(leaf.basis, ours=_stripped(leaf.basis.ours), before=_stripped(leaf.basis.before))
    return replace(leaf, storage=storage, health=replace(leaf.health, rows=pieces, live_rows=None), basis=basis)


def _stripped(parameters: Mapping[str, Value]) -> dict[str, Value]:
    return {name.removeprefix(TOAST): value for name, value in parameters.items() if name.startswith(TOAST)}


def _carried(own: Leaf, of_table: Mapping[str, str]) -> Iterator[Wanted]:
    reason = "as its table has it, whose settings hold only for a TOAST table without any of its own"
    for name in CARRIED:
        if name in of_table:
            number, now = figures.as_number(of_table[name]), own.now(name)
            is_same = now is not None and figures.as_number(now) == number
            yield Wanted(name, now if is_same and now is not None else f"{number:.12g}", reason, now)


def _pieces(rows: float, each: float) -> int:
    return min(MOST, figures.rounded_down(rows * each))
