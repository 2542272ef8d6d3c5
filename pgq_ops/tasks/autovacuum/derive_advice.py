"""What is to be said of a leaf beside its plan: what pgq-ops does not change itself."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pgq_ops.job_table.pasting import pasted
from pgq_ops.job_table.quoting import identifier
from pgq_ops.tasks.autovacuum import figures
from pgq_ops.tasks.autovacuum.derive_toast import ENABLED
from pgq_ops.tasks.autovacuum.leaf_plan import Advice
from pgq_ops.tasks.autovacuum.settable import TOAST

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.tasks.autovacuum.basis import Leaf
    from pgq_ops.tasks.autovacuum.target import Target

FILLFACTOR = "fillfactor"
_FULL = 100
# With room for an update of one row in eight or so on each page; 70 made the heap 39 % larger (performance.md).
_ADVISED_FILLFACTOR = 85
# As the point `hot_heartbeats` of the checklist has it: beyond so many updates a job most are heartbeats, and of fewer
# updates the shares are chance.
_UPDATES_A_JOB = 5
_FEWEST_UPDATES = 10_000
# Below, an index or its predicate stands in the way, and room does not help; above, there is room enough.
_SOME_HOT, _MOSTLY_HOT = 0.02, 0.8
# PostgreSQL takes a second; shorter than 5 s the launcher does nothing else.
_SHORTEST_NAPTIME = 5


def advice(leaf: Leaf, target: Target) -> Iterator[Advice]:
    """In the order of their weight."""
    yield from _enabled(leaf)
    yield from _naptime(leaf, target)
    yield from _fillfactor(leaf)


def _enabled(leaf: Leaf) -> Iterator[Advice]:
    for prefix, what in (("", str(leaf.storage.relation)), (TOAST, f"the TOAST table of {leaf.storage.relation}")):
        value = leaf.now(prefix + ENABLED)
        if value is not None and figures.as_switch(value) == "off":
            text = f"autovacuum is off for {what}, so that its settings have no effect; pgq-ops never switches it on"
            yield Advice(text, f"ALTER TABLE {_name(leaf)} RESET ({prefix}{ENABLED});")


def _naptime(leaf: Leaf, target: Target) -> Iterator[Advice]:
    """Where more rows die between two visits than claims can bear, no parameter of the table helps."""
    if target.overrun <= 1:
        return
    naptime = leaf.server.naptime_seconds
    wanted = max(_SHORTEST_NAPTIME, math.floor(naptime / target.overrun))
    text = (
        f"{target.overrun:.1f} times the budget of {figures.rows(leaf.basis.budget_rows)} dead rows die between two"
        f" visits of autovacuum ({figures.number(naptime)} s), which no setting of the table changes"
    )
    if leaf.basis.vacuums:
        yield Advice(f'{text}: so an agent in mode "manage" runs VACUUM itself (vacuum = "when-needed")')
        return
    text = f'{text}: shorten that, or let the agent run VACUUM itself (vacuum = "when-needed")'
    statement = f"ALTER SYSTEM SET autovacuum_naptime = '{wanted}s'; SELECT pg_reload_conf();"
    yield Advice(text, statement if wanted < naptime else "")


def _fillfactor(leaf: Leaf) -> Iterator[Advice]:
    """With the share of HOT updates, which says whether room on the page is what they lack."""
    health = leaf.health
    if health.updated < _FEWEST_UPDATES or leaf.is_closed:
        return
    share = health.hot_updated / health.updated
    hot = f"{share:.0%} of {figures.rows(health.updated)} updates were HOT"
    now = leaf.now(FILLFACTOR)
    full = now is None or figures.as_number(now) >= _FULL
    if full and health.updated >= _UPDATES_A_JOB * health.inserted and _SOME_HOT <= share < _MOSTLY_HOT:
        text = (
            f"{hot}, and most are heartbeats, which could be, with room on the page: fillfactor {_ADVISED_FILLFACTOR}"
            " leaves some on pages that are filled from now on, and makes the table larger"
        )
        yield Advice(text, f"ALTER TABLE {_name(leaf)} SET ({FILLFACTOR} = {_ADVISED_FILLFACTOR});")
    elif not full and share < _SOME_HOT:
        text = f"{hot}: the room that fillfactor {now} leaves is of no use, as each update changes what an index holds"
        yield Advice(text, f"ALTER TABLE {_name(leaf)} RESET ({FILLFACTOR});")


def _name(leaf: Leaf) -> str:
    relation = leaf.storage.relation
    return pasted(identifier(relation.schema, relation.name))
