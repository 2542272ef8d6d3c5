"""Leaves with settings of their own, and what becomes of them once a plan is applied."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

from pgq_ops.job_table.table import Relation
from pgq_ops.stats.churn import Churn
from pgq_ops.stats.server_parameters import ServerParameters
from pgq_ops.stats.storage_parameters import LeafStorage
from pgq_ops.stats.table_health import LeafHealth
from pgq_ops.stats.vacuum_settings import ServerAutovacuum
from pgq_ops.tasks.autovacuum.basis import Basis
from pgq_ops.tasks.autovacuum.derive import plan_leaf

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgq_ops.tasks.autovacuum.leaf_plan import LeafPlan, Wanted

JOBS = Relation(1, "public", "jobs")
MEGABYTE = 2**20
V17 = ServerParameters(version=170000)
V18 = ServerParameters(version=180000, values={"autovacuum_vacuum_max_threshold": "100000000"})


def health(rows: float = 1_000, **fields: Any) -> LeafHealth:
    """A leaf of so many rows, without dead ones."""
    known: dict[str, Any] = {
        "oid": 1,
        "name": "jobs",
        "schema": "public",
        "live_rows": int(rows),
        "dead_rows": 0,
        "vacuum_threshold": 0.0,
        "autovacuum_enabled": True,
        "last_vacuum": None,
        "last_autovacuum": None,
        "vacuum_running": False,
        "table_bytes": 100 * MEGABYTE,
        "index_bytes": 0,
        "xid_age": 0,
        "rows": rows,
    }
    return LeafHealth(**(known | fields))


def churn(updated: float = 0.0, *, inserted: float = 0.0, deleted: float = 0.0) -> Churn:
    """Rows a second over ten minutes."""
    return Churn(600.0, inserted, updated, deleted)


def plan(
    own: Mapping[str, str] | None = None,
    basis: Basis | None = None,
    of: LeafHealth | None = None,
    *,
    naptime: float = 60.0,
    **storage: Any,
) -> LeafPlan:
    """The plan of a leaf with these parameters of its own."""
    leaf = LeafStorage(JOBS, dict(own or {}), **storage)
    return plan_leaf(leaf, of or health(), ServerAutovacuum(naptime_seconds=naptime), basis or Basis())


def again(planned: LeafPlan, basis: Basis, of: LeafHealth | None = None, *, naptime: float = 60.0) -> LeafPlan:
    """The plan after that one was applied, and remembered as the ledger does it."""
    leaf, basis = applied(planned, basis)
    return plan_leaf(leaf, of or health(), ServerAutovacuum(naptime_seconds=naptime), basis)


def applied(planned: LeafPlan, basis: Basis) -> tuple[LeafStorage, Basis]:
    """The leaf with what the plan sets, and what is remembered of it: never our own value as the one before."""
    own = dict(planned.storage.parameters)
    ours, before = dict(basis.ours), dict(basis.before)
    for one in planned.changes:
        if one.now is None or one.now != ours.get(one.parameter):
            before[one.parameter] = one.now
        ours[one.parameter] = own[one.parameter] = one.value
    return replace(planned.storage, parameters=own), replace(basis, ours=ours, before=before)


def wanted(planned: LeafPlan, parameter: str) -> Wanted:
    """What the plan says of a parameter."""
    [one] = [one for one in planned.wanted if one.parameter == parameter]
    return one


def changed(planned: LeafPlan) -> dict[str, str]:
    """What the plan sets."""
    return {one.parameter: one.value for one in planned.changes}
