"""Puts storage parameters back to what they were before pgq-ops set them: those, and no other."""

from __future__ import annotations

from dataclasses import replace
from itertools import groupby
from typing import TYPE_CHECKING

import psycopg

from pgq_ops.schema import settings
from pgq_ops.tasks.autovacuum import leaf_lock, leaf_now, setting_news, setting_rights
from pgq_ops.tasks.autovacuum.setting_actions import actions, statement
from pgq_ops.tasks.autovacuum.setting_outcome import LeafOutcome, SettingFate
from pgq_ops.tasks.autovacuum.setting_undo import Undo

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.tasks.autovacuum.leaf_now import LeafNow
    from pgq_ops.tasks.task import Guard


def planned_revert(
    connection: Connection,
    table: JobTable,
    parameters: Collection[str] | None = None,
    leaves: Collection[int] | None = None,
) -> tuple[LeafOutcome, ...]:
    """What `revert` would do now, leaf by leaf; reads only.

    Raises NotInstalled without the schema that has the old values, NotPermitted with the GRANT, the driver's errors.
    """
    settings.require_readable(connection, "autovacuum revert")
    planned = []
    for leaf, undo in _undoable(connection, table, parameters, leaves):
        fate = SettingFate.CHANGED if undo.changes else SettingFate.SAME
        pasted = statement(leaf.relation, undo.steps) if undo.steps else ""
        planned.append(LeafOutcome(leaf.relation, fate, undo.changes, undo.left, statement=pasted))
    return tuple(planned)


def revert(  # noqa: PLR0913 (what and as whom, each by its name)
    connection: Connection,
    table: JobTable,
    guard: Guard,
    parameters: Collection[str] | None = None,
    leaves: Collection[int] | None = None,
    *,
    owner_role: str | None = None,
) -> tuple[LeafOutcome, ...]:
    """Put back what pgq-ops set: on the leaves of the table, and on those that were detached or renamed since.

    `parameters`, `leaves` (oids): these only; None for all. `guard` is asked before each leaf. Of each leaf all is put
    back or nothing; nothing is waited for, as in `apply_leaf.apply`. What somebody else set since stays as it is. What
    was not set before is reset, and the names stand in the order in which they stood. `owner_role`: whom to be where
    the role itself has not the owner's rights. Counted and logged. Raises as `setting_rights.require` does, and the
    driver's errors where the session is lost.
    """
    setting_rights.require(connection, "autovacuum revert")
    outcomes = []
    for leaf, undo in list(_undoable(connection, table, parameters, leaves)):
        setting_news.declare(connection, table, (change.parameter for change in undo.changes))
        if not guard():
            break
        outcome = setting_rights.lacking(connection, leaf, owner_role)
        if outcome is None:
            role = setting_rights.acting_role(leaf, owner_role)
            outcome = _tried(connection, table, leaf, parameters, role)
        outcomes.append(setting_rights.with_statement(outcome, statement(leaf.relation, undo.steps)))
    return tuple(outcomes)


def _undoable(
    connection: Connection, table: JobTable, parameters: Collection[str] | None, leaves: Collection[int] | None
) -> Iterator[tuple[LeafNow, Undo]]:
    """The leaves with settings to be undone, by name."""
    known = sorted(settings.of_table(connection, table), key=lambda one: one.table_oid)
    of_leaf = {oid: tuple(those) for oid, those in groupby(known, key=lambda one: one.table_oid)}
    for leaf in leaf_now.read(connection, of_leaf):
        if leaves is not None and leaf.relation.oid not in leaves:
            continue
        undo = Undo.of(leaf, of_leaf[leaf.relation.oid], parameters)
        if undo.back or undo.overridden:
            yield leaf, undo


def _tried(
    connection: Connection, table: JobTable, leaf: LeafNow, parameters: Collection[str] | None, role: str | None
) -> LeafOutcome:
    if reason := leaf_lock.in_the_way(connection, leaf):
        return LeafOutcome(leaf.relation, SettingFate.BUSY, reason=reason)
    try:
        with leaf_lock.held(connection, leaf, role) as held:
            if held is None:
                return LeafOutcome(leaf.relation, SettingFate.GONE, reason="its name is another table's by now")
            undo = Undo.of(held.now, settings.of_leaf(connection, leaf.relation.oid).values(), parameters)
            if undo.steps:
                held.alter(actions(undo.steps))
            settings.end(connection, undo.back, "reverted")
            settings.end(connection, undo.overridden, "overridden")
    except psycopg.Error as error:
        return setting_rights.failed(leaf, error)
    setting_news.put_back(connection, table, leaf.relation, undo.changes)
    setting_news.left(table, leaf.relation, undo.left)
    outcome = LeafOutcome(leaf.relation, SettingFate.SAME, left=undo.left)
    return replace(outcome, fate=SettingFate.CHANGED, changes=undo.changes) if undo.changes else outcome
