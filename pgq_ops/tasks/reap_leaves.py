"""Which relations a pass goes through: the leaves of a partitioned table that hold an expired lease, or the table."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.db.failures import is_connection_loss
from pgq_ops.job_table.leases import LeaseTerms
from pgq_ops.job_table.quoting import literal, plain_name
from pgq_ops.job_table.table import Relation

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

# One statement looks into so many leaves: a lock on one of them spoils the look at few others.
LEAVES_AT_ONCE = 50


def writable(connection: Connection, table: JobTable, columns: Sequence[str]) -> list[Relation]:
    """The leaves, so that one that is locked does not stop the others; the table itself where only it can be written.

    A leaf needs its own GRANT (on the written `columns`) and does not know the parent's row-level security; and rows
    move between partitions only through the parent.
    """
    if not table.partitioned or table.moves_rows or table.all_visible_policies:
        return [table.relation]
    return leaves(connection, table.relation, columns, deleting=table.dead_letters is not None)


def leaves(connection: Connection, table: Relation, columns: Sequence[str], *, deleting: bool) -> list[Relation]:
    """The attached leaves, or the table itself where this role may not write the columns, or delete, in all of them."""
    parameters = {"oid": table.oid, "columns": list(columns), "deleting": deleting}
    rows = connection.execute(sql.statement("catalog/leaves"), parameters).fetchall()
    if not all(row[-1] for row in rows):
        return [table]
    return [Relation(oid, schema_name, name) for oid, schema_name, name, *_ in rows]


def is_attached(table: Relation, leaf: Relation) -> composing.Composable:
    """The condition, asked once a statement and not of each row, that the leaf still is the table or belongs to it.

    Jobs that are given back in one that does not are where no worker looks.
    """
    fragments = {
        "leaf": literal(leaf.oid),
        "name": literal(plain_name(leaf.schema, leaf.name)),
        "table": literal(table.oid),
    }
    return sql.statement("reap/is_attached", fragments)


def with_expired(
    connection: Connection, table: JobTable, relations: Sequence[Relation], *, include_stale: bool
) -> list[Relation]:
    """Those of the leaves that hold a reapable row, and those that could not be looked into just now.

    To sweep each leaf takes milliseconds even where there is nothing to take: with hundreds of them a pass would not
    get through. To be asked only where an index finds the running rows.
    """
    terms = LeaseTerms(table, table.policies)
    is_reapable = composing.SQL(terms.is_reapable(include_stale=include_stale).as_string(connection))
    found: list[Relation] = []
    for first in range(0, len(relations), LEAVES_AT_ONCE):
        some = relations[first : first + LEAVES_AT_ONCE]
        try:
            found += _look(connection, some, is_reapable)
        except psycopg.Error as error:
            if is_connection_loss(error):
                raise
            found += some
    return found


def _look(connection: Connection, some: Sequence[Relation], is_reapable: composing.Composable) -> Iterator[Relation]:
    looks = [
        sql.statement("reap/leaf_with_expired", {"place": literal(place), "leaf": leaf.sql, "is_reapable": is_reapable})
        for place, leaf in enumerate(some)
    ]
    rows = connection.execute(composing.SQL(" UNION ALL ").join(looks), {}).fetchall()
    return (some[place] for (place,) in rows)
