"""A transaction in which nobody else changes a leaf's parameters, had at once or not at all."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.tasks.autovacuum import leaf_now

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg.sql import Composable

    from pgq_ops.db.connection import Connection
    from pgq_ops.tasks.autovacuum.leaf_now import LeafNow


@dataclass(frozen=True, slots=True)
class HeldLeaf:
    """A leaf as it is under the lock, until the transaction ends."""

    connection: Connection
    now: LeafNow
    before_role: str
    owner_role: str | None

    def alter(self, actions: Composable) -> None:
        """Change its parameters. Raises psycopg.Error, LockNotAvailable where its TOAST table is in use."""
        with _acting_as(self.connection, self.owner_role, self.before_role):
            fragments = {"table": self.now.relation.sql, "actions": actions}
            self.connection.execute(sql.statement("storage/alter_leaf", fragments), {})


@contextmanager
def held(connection: Connection, leaf: LeafNow, owner_role: str | None) -> Iterator[HeldLeaf | None]:
    """Lock the leaf for a transaction that ends with the block; gives None where it is another table by now.

    `owner_role`: whom to be for what needs the owner's rights; None for oneself. The connection has to be in autocommit
    mode and outside a transaction. Raises psycopg.Error: LockNotAvailable at once where somebody has it locked.
    """
    with connection.transaction():
        [(_, before)] = connection.execute(sql.statement("storage/bound_waits"), {}).fetchall()
        with _acting_as(connection, owner_role, before):
            connection.execute(sql.statement("storage/lock_leaf", {"table": leaf.relation.sql}), {})
        found = leaf_now.read(connection, [leaf.relation.oid])
        # The lock is on what has the name now, and keeps it from being renamed.
        same = [now for now in found if now.relation == leaf.relation and now.kind == leaf.kind]
        yield HeldLeaf(connection, same[0], before, owner_role) if same else None


def in_the_way(connection: Connection, leaf: LeafNow) -> str:
    """Who keeps the leaf, or its TOAST table, from being changed just now, in words; empty where nobody does.

    Waits for no lock, and joins no queue for one. Raises psycopg.Error.
    """
    oids = [oid for oid in (leaf.relation.oid, leaf.toast) if oid is not None]
    row = connection.execute(sql.statement("storage/in_the_way"), {"oids": oids}).fetchone()
    if row is None:
        return ""
    pid, is_vacuum = row
    if pid is None:
        return "a prepared transaction has it locked"
    return f"it is being vacuumed (pid {pid})" if is_vacuum else f"session {pid} has it locked, or waits to"


@contextmanager
def _acting_as(connection: Connection, role: str | None, before: str) -> Iterator[None]:
    """Be the role within. After an error the transaction is over, and so is that."""
    if role is None:
        yield
        return
    connection.execute(sql.statement("storage/take_role"), {"role": role})
    yield
    connection.execute(sql.statement("storage/take_role"), {"role": before})
