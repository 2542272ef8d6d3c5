"""What the settings of one leaf ought to be, from what is known of it. Reads nothing, changes nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.tasks.autovacuum import derive_triggers
from pgq_ops.tasks.autovacuum.basis import Leaf
from pgq_ops.tasks.autovacuum.derive_advice import advice
from pgq_ops.tasks.autovacuum.derive_cost import cost
from pgq_ops.tasks.autovacuum.derive_freeze import freezing
from pgq_ops.tasks.autovacuum.derive_switches import switches
from pgq_ops.tasks.autovacuum.derive_toast import toast
from pgq_ops.tasks.autovacuum.leaf_plan import LeafPlan
from pgq_ops.tasks.autovacuum.target import target

if TYPE_CHECKING:
    from pgq_ops.stats.storage_parameters import LeafStorage
    from pgq_ops.stats.table_health import LeafHealth
    from pgq_ops.stats.vacuum_settings import ServerAutovacuum
    from pgq_ops.tasks.autovacuum.basis import Basis


def plan_leaf(storage: LeafStorage, health: LeafHealth, server: ServerAutovacuum, basis: Basis) -> LeafPlan:
    """Every parameter that has something to be said of, each with its reason in numbers, and advice.

    Planning again once it is applied gives no change. A parameter that pgq-ops set and that nothing calls for any more
    is not named: it stays until it is reverted.
    """
    leaf = Leaf(storage, health, server, basis)
    aim = derive_triggers.aim(leaf, goal := target(leaf))
    dead = derive_triggers.dead_rows(leaf, aim)
    inserts = derive_triggers.inserts(leaf, dead.rows)
    wanted = (
        *dead.wanted,
        *inserts.wanted,
        *derive_triggers.changes(leaf).wanted,
        *cost(leaf, goal),
        *switches(leaf, dead.rows),
        *freezing(leaf),
    )
    return LeafPlan(storage, (*wanted, *toast(leaf, wanted, aim, inserts.rows)), tuple(advice(leaf, goal)))
