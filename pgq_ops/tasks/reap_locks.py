"""Finds the table that a batch waited for, and how to go on without it where that can be done."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from psycopg import errors

from pgq_ops import sql
from pgq_ops.job_table.changes import ReapChanges
from pgq_ops.job_table.quoting import identifier

if TYPE_CHECKING:
    from psycopg import sql as composing

    from pgq_ops.db.connection import Connection
    from pgq_ops.tasks.reap_statement import ReapStatement


class RelationBusy(Exception):
    """Somebody holds, or waits for, a lock that keeps everybody from writing to a relation, or to many rows."""


def around_locks(connection: Connection, statement: ReapStatement) -> ReapStatement:
    """The statement to go on with after one that met a lock: without what cannot be written just now.

    It is the same one where a row was locked and no table. Raises RelationBusy where nothing can be done.
    """
    written = ReapChanges(statement.table, statement.policy).written_columns()
    fragments = {"table": statement.relation.sql, "column": identifier(written[0])}
    if _is_locked(connection, sql.statement("reap/lock_table", fragments)):
        raise RelationBusy
    if statement.logged and _is_locked(connection, sql.statement("reap/lock_log")):
        # Jobs matter more than their history, unless that is what counts their attempts.
        if "attempts" not in statement.table.fields:
            raise RelationBusy
        statement = replace(statement, logged=False)
    letters = statement.letters
    if letters is not None:
        fragments = {"dead_letter_table": letters.relation.sql, "column": identifier(letters.columns[0])}
        if _is_locked(connection, sql.statement("reap/lock_dead_letters", fragments)):
            return replace(statement, requeues_only=True)
    return statement


def _is_locked(connection: Connection, planning: composing.Composed) -> bool:
    """Whether the lock cannot be had that a statement takes when it is only planned."""
    try:
        with connection.transaction():
            connection.execute(planning, {})
    except errors.LockNotAvailable:
        return True
    return False
