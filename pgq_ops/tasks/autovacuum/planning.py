"""Plans every leaf of a job table from what was observed of it, or else from what can be read now."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from pgq_ops.schema import settings
from pgq_ops.stats import server_parameters, storage_parameters, table_health
from pgq_ops.stats.observed import Observed
from pgq_ops.stats.vacuum_runs import VacuumRuns
from pgq_ops.tasks.autovacuum.basis import Basis
from pgq_ops.tasks.autovacuum.budget import budget_of, part_of
from pgq_ops.tasks.autovacuum.derive import plan_leaf

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pgq_ops.config.maintenance import Autovacuum
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.schema.settings import Setting
    from pgq_ops.stats.dead_row_budget import Budget
    from pgq_ops.stats.storage_parameters import LeafStorage
    from pgq_ops.tasks.autovacuum.leaf_plan import LeafPlan


def plan_leaves(
    connection: Connection, table: JobTable, section: Autovacuum, observed: Observed | None, owner_role: str | None
) -> tuple[tuple[LeafPlan, ...], Budget]:
    """The plans of the leaves that hold rows, by name, and the budget. Reads only; raises the driver's errors.

    What nobody observed is read now, and of a leaf without churn so much the less is derived. `owner_role`: whom to be
    where the role itself is not the owner.
    """
    leaves = storage_parameters.read(connection, table, owner_role)
    if observed is None or not _covers(observed, leaves):
        health = table_health.read(connection, table)
        observed = Observed(health) if observed is None else replace(observed, health=health)
    budget = budget_of(section, observed)
    parameters = server_parameters.read(connection)
    known = _by_leaf(settings.readable(connection, table))
    by_oid = {leaf.oid: leaf for leaf in observed.health.leaves}
    plans = []
    for leaf in leaves:
        health_of_leaf = by_oid.get(leaf.relation.oid)
        if health_of_leaf is None:
            continue
        ours = known.get(leaf.relation.oid, {})
        part = part_of(budget, observed, leaf.relation.oid)
        basis = Basis(
            churn=observed.churn.get(leaf.relation.oid),
            runs=observed.runs.get(leaf.relation.oid, VacuumRuns()),
            budget_rows=part.rows,
            budget_reason=part.reason,
            ceiling=math.inf if section.dead_tuple_budget == "auto" else budget.rows,
            parameters=parameters,
            ours={name: setting.set_value for name, setting in ours.items()},
            before={name: setting.old_value for name, setting in ours.items()},
            vacuums=section.vacuum == "when-needed",
        )
        plans.append(plan_leaf(leaf, health_of_leaf, observed.health.server, basis))
    plans.sort(key=lambda plan: (plan.storage.relation.schema, plan.storage.relation.name))
    return tuple(plans), budget


def _covers(observed: Observed, leaves: Sequence[LeafStorage]) -> bool:
    """Whether no leaf has come since."""
    return {leaf.relation.oid for leaf in leaves} <= {leaf.oid for leaf in observed.health.leaves}


def _by_leaf(known: Mapping[tuple[int, str], Setting]) -> Mapping[int, Mapping[str, Setting]]:
    found: dict[int, dict[str, Setting]] = {}
    for (oid, parameter), setting in known.items():
        found.setdefault(oid, {})[parameter] = setting
    return found
