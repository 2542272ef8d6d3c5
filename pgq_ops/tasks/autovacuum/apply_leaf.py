"""Sets the storage parameters that a leaf ought to have, and remembers what was there before: both or neither."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg

from pgq_ops.schema import settings
from pgq_ops.schema.settings import Setting
from pgq_ops.tasks.autovacuum import leaf_lock, leaf_now, setting_news, setting_rights
from pgq_ops.tasks.autovacuum.settable import TOAST, require_settable
from pgq_ops.tasks.autovacuum.setting_actions import actions, statement
from pgq_ops.tasks.autovacuum.setting_outcome import LeafOutcome, SettingChange, SettingFate

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.tasks.autovacuum.leaf_now import LeafNow
    from pgq_ops.tasks.autovacuum.leaf_plan import LeafPlan, Wanted


def apply(connection: Connection, table: JobTable, plan: LeafPlan, owner_role: str | None = None) -> LeafOutcome:
    """Set what the plan changes, all of it or nothing; `setting_rights.require` is to be asked before.

    Nothing is waited for: where a vacuum, or anybody, has the leaf locked, it is `busy`. Each parameter is set only
    where it is what the plan was made for. `owner_role`: whom to be where the role itself has not the owner's rights.
    Counted and logged. Raises ValueError for a parameter that is none of ours, the driver's errors where the session
    is lost.
    """
    for one in plan.changes:
        require_settable(one.parameter, one.value)
    setting_news.declare(connection, table, (one.parameter for one in plan.wanted))
    relation = plan.storage.relation
    if not plan.changes:
        return LeafOutcome(relation, SettingFate.SAME)
    found = leaf_now.read(connection, [relation.oid])
    if not found:
        return LeafOutcome(relation, SettingFate.GONE, reason="it is there no longer")
    [leaf] = found
    if leaf.unfit:
        return LeafOutcome(leaf.relation, SettingFate.SKIPPED, reason=leaf.unfit)
    pending = _pending(leaf, plan.changes)
    if isinstance(pending, LeafOutcome):
        return pending
    outcome = setting_rights.lacking(connection, leaf, owner_role)
    if outcome is None:
        outcome = _tried(connection, table, leaf, plan, setting_rights.acting_role(leaf, owner_role))
    return setting_rights.with_statement(outcome, statement(leaf.relation, pending))


def _tried(connection: Connection, table: JobTable, leaf: LeafNow, plan: LeafPlan, role: str | None) -> LeafOutcome:
    if reason := leaf_lock.in_the_way(connection, leaf):
        return LeafOutcome(leaf.relation, SettingFate.BUSY, reason=reason)
    try:
        with leaf_lock.held(connection, leaf, role) as held:
            if held is None:
                return LeafOutcome(leaf.relation, SettingFate.GONE, reason="its name is another table's by now")
            changes = _pending(held.now, plan.changes)
            if isinstance(changes, LeafOutcome):
                return changes
            known = settings.of_leaf(connection, leaf.relation.oid)
            settings.save(connection, table, leaf.relation, _saved(held.now, known, changes))
            held.alter(actions(changes))
    except psycopg.Error as error:
        return setting_rights.failed(leaf, error)
    setting_news.changed(connection, table, leaf.relation, changes)
    return LeafOutcome(leaf.relation, SettingFate.CHANGED, changes)


def _pending(leaf: LeafNow, wanted: Iterable[Wanted]) -> tuple[SettingChange, ...] | LeafOutcome:
    """What is still to be changed; an outcome where that is nothing, or not what was planned for."""
    changes = []
    for one in wanted:
        now = leaf.value(one.parameter)
        if now == one.value or not leaf.has_place_for(one.parameter):
            continue
        if now != one.now:
            meanwhile = f"{one.parameter} is {now or 'not set'} by now, and was {one.now or 'not set'}"
            return LeafOutcome(leaf.relation, SettingFate.STALE, reason=f"{meanwhile}: plan anew")
        changes.append(SettingChange(one.parameter, now, one.value))
    return tuple(changes) or LeafOutcome(leaf.relation, SettingFate.SAME)


def _saved(leaf: LeafNow, known: Mapping[str, Setting], changes: Iterable[SettingChange]) -> list[Setting]:
    """What is to be remembered: the value before pgq-ops came, be it the DBA's of just now; never our own."""
    saved = []
    for change in changes:
        before, oid = known.get(change.parameter), leaf.relation.oid
        is_ours = before is not None and before.set_value == change.before
        old = before.old_value if before is not None and is_ours else change.before
        saved.append(Setting(oid, change.parameter, old, str(change.after), _order(leaf, known, change.parameter)))
    return saved


def _order(leaf: LeafNow, known: Mapping[str, Setting], parameter: str) -> tuple[str, ...]:
    """The order before the first change to the table, or to its TOAST table, that is not taken back yet."""
    toast = parameter.startswith(TOAST)
    same = [one for one in known.values() if one.parameter.startswith(TOAST) == toast]
    if same:
        return min(same, key=lambda one: one.row).order_before
    return tuple(leaf.parameters(parameter))
