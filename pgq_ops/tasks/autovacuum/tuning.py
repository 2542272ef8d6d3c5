"""The tuner: brings the storage parameters of every leaf to what they ought to be."""

from __future__ import annotations

import random
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops.config.maintenance import Autovacuum
from pgq_ops.errors import ActionFailed, NotPermitted
from pgq_ops.stats.churn import ENOUGH_SECONDS
from pgq_ops.tasks.autovacuum import apply_leaf, setting_rights
from pgq_ops.tasks.autovacuum.planning import plan_leaves
from pgq_ops.tasks.autovacuum.setting_outcome import SettingFate
from pgq_ops.tasks.autovacuum.tune_result import IN_THE_WAY, TunedLeaf, TuneResult

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.dead_row_budget import Budget
    from pgq_ops.stats.observed import Observations, Observed
    from pgq_ops.tasks.autovacuum.leaf_plan import LeafPlan
    from pgq_ops.tasks.task import Guard

_WHAT = "autovacuum apply"
# A vacuum of a hot leaf takes seconds; somebody else's DDL too.
_RETRY_SECONDS = 60.0
# After so long the churn is known (churn.py), and the next look at the statistics has come (every 15 s).
_MEASURED_SECONDS = ENOUGH_SECONDS + 20.0


def _none(_: str) -> Autovacuum | None:
    return None


def _nobody() -> str | None:
    return None


@dataclass(slots=True)
class Tune:
    """The task. It keeps nothing between two runs but what the last one did.

    `section`: the `[job_tables.*.autovacuum]` of a job table, by name, as it is now; the defaults hold for one without.
    `observations`: where the collection leaves what it saw; None: all is read when it is needed, and no churn is known.
    `owner_role`: whom to be where the role itself is not the owner, as it is now. `apply`: whether a run changes
    anything; None: as the section's `mode` says. A person's run (`apply` True) raises nothing for what could not be
    changed: it is in the result.
    """

    section: Callable[[str], Autovacuum | None] = _none
    observations: Observations | None = None
    owner_role: Callable[[], str | None] = _nobody
    apply: bool | None = None
    done: dict[str, TuneResult] = field(default_factory=dict)
    """What the last run on each job table did, also where it was cut short by an error."""
    name: str = "autovacuum"

    def plan(self, connection: Connection, table: JobTable) -> TuneResult:
        """What a run would change now; reads only, and needs no more than SELECT. Raises the driver's errors."""
        plans, budget = self._plans(connection, table)
        leaves = tuple(_planned(one) for one in plans)
        return TuneResult(leaves, budget, dry_run=True, by_config=not self._applies(table))

    def run(self, connection: Connection, table: JobTable, guard: Guard) -> TuneResult:
        """Change what differs, leaf by leaf, asking `guard` before each change; in mode "plan" nothing.

        Raises NotInstalled without the schema that keeps the old values, the driver's errors; and the agent's, once all
        leaves were tried: NotPermitted with the GRANT, ActionFailed where the server refused a change.
        """
        if not self._applies(table):
            return self.plan(connection, table)
        plans, budget = self._plans(connection, table)
        setting_rights.require(connection, _WHAT)
        tuned: list[TunedLeaf] = []
        again: float | None = None
        try:
            for one in plans:
                if one.changes and not guard():
                    break
                tuned.append(self._applied(connection, table, one))
            else:
                again = self._again(table, tuned)
        finally:
            self.done[table.name] = TuneResult(tuple(tuned), budget, again_seconds=again)
        if self.apply is None:
            _raise_for(tuned)
        return self.done[table.name]

    def _plans(self, connection: Connection, table: JobTable) -> tuple[tuple[LeafPlan, ...], Budget]:
        observed = None if self.observations is None else self.observations.of(table.name)
        return plan_leaves(connection, table, self._section(table), observed, self.owner_role())

    def _applies(self, table: JobTable) -> bool:
        return self._section(table).mode == "apply" if self.apply is None else self.apply

    def _again(self, table: JobTable, tuned: list[TunedLeaf]) -> float | None:
        """Sooner than usual where something was in the way, or where an agent has not watched for long enough yet."""
        soon = []
        if any(one.fate in IN_THE_WAY for one in tuned):
            soon.append(_RETRY_SECONDS * random.uniform(0.5, 1))  # noqa: S311 (no secret)
        if self.observations is not None and _is_early(self.observations.of(table.name), tuned):
            soon.append(_MEASURED_SECONDS)
        return min([*soon, self._section(table).every.total_seconds()]) if soon else None

    def _section(self, table: JobTable) -> Autovacuum:
        return self.section(table.name) or Autovacuum()

    def _applied(self, connection: Connection, table: JobTable, plan: LeafPlan) -> TunedLeaf:
        outcome = apply_leaf.apply(connection, table, plan, self.owner_role())
        return TunedLeaf(plan, outcome.fate, outcome.reason, outcome.grant)


def _planned(plan: LeafPlan) -> TunedLeaf:
    if not plan.changes:
        return TunedLeaf(plan, SettingFate.SAME)
    if plan.storage.may_change:
        return TunedLeaf(plan, SettingFate.CHANGED)
    reason = f"this role may not change it: its owner is {plan.storage.owner}"
    return TunedLeaf(plan, SettingFate.NOT_PERMITTED, reason)


def _is_early(observed: Observed | None, tuned: list[TunedLeaf]) -> bool:
    """Whether churn is not known yet that will be."""
    if observed is None:
        return True
    leaves = (one.plan.storage for one in tuned)
    unknown = any(not leaf.closed and leaf.relation.oid not in observed.churn for leaf in leaves)
    return unknown and observed.health.server.counts


def _raise_for(tuned: list[TunedLeaf]) -> None:
    """The first that was not to be had stands for all: it is told once, and the others are like it."""
    for one in tuned:
        if one.fate is SettingFate.NOT_PERMITTED:
            remedy = one.grant or one.statement
            raise NotPermitted(f"could not set storage parameters of {one}: {one.reason}", remedy)
    for one in tuned:
        if one.fate is SettingFate.REFUSED:
            raise ActionFailed(f"could not set storage parameters of {one}: {one.reason}")
