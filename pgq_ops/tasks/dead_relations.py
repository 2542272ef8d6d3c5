"""Which relations a retry or a purge goes through, and in which order each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.db.failures import is_busy
from pgq_ops.job_table.quoting import plain_name
from pgq_ops.stats import index_support
from pgq_ops.stats.index_support import Question
from pgq_ops.tasks.reap_leaves import leaves
from pgq_ops.tasks.reap_page import PageOrder

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.dead_filter import DeadFilter
    from pgq_ops.job_table.dead_place import DeadPlace
    from pgq_ops.job_table.table import JobTable, Relation


# 64 MB: tens of milliseconds to read when cached.
SMALL_BLOCKS = 8_192
# 8 MB of heap. Each batch sorts what its stretch still holds: with 64 MB, 50,000 jobs of a table without a key took
# twice as long.
STRETCH_BLOCKS = 1_024


def partition_columns(connection: Connection, table: JobTable) -> set[str | None]:
    """The columns of the partition key, None among them for an expression; empty for a plain table."""
    if not table.partitioned:
        return set()
    rows = connection.execute(sql.statement("catalog/partition_key"), {"oid": table.relation.oid}).fetchall()
    return {name for *_, name in rows}


def moves_rows(connection: Connection, table: JobTable, written: Sequence[str]) -> bool:
    """Whether writing these columns may move a row to another partition, which only the parent can do."""
    keys = partition_columns(connection, table)
    return None in keys or bool(keys & set(written))


def writable(connection: Connection, place: DeadPlace, written: Sequence[str], *, deleting: bool) -> list[Relation]:
    """The leaves, so that a locked one does not stop the others; the place itself where only it can be written."""
    table = place.table
    # A leaf does not know its parent's policies, and its own might hide rows where those are allowed to.
    if not table.partitioned or table.all_visible_policies or place.job_table.all_visible_policies:
        return [table.relation]
    if not deleting and moves_rows(connection, table, written):
        return [table.relation]
    return leaves(connection, table.relation, written, deleting=deleting)


def is_found_by_index(connection: Connection, place: DeadPlace, wanted: DeadFilter) -> bool:
    """Whether an index leads to the dead letters that are meant; without one the place is read piece by piece."""
    if wanted.ids:
        return True
    if place.is_dead_letter_table:
        return False
    try:
        return Question.DEAD in index_support.read(connection, place.table).serving
    except psycopg.Error as error:
        if not is_busy(error):
            raise
        return False


def orders(connection: Connection, place: DeadPlace, relation: Relation, *, indexed: bool) -> Iterator[PageOrder]:
    """By key where an index helps or the place is small; else stretches of the heap, each read in bounded time."""
    if place.table.partitioned and relation == place.relation:
        yield PageOrder.by_key(place.table)
        return
    name = {"name": plain_name(relation.schema, relation.name)}
    row = connection.execute(sql.statement("reap/blocks"), name).fetchone()
    blocks = int(row[0]) if row else 0
    if place.table.key and (indexed or blocks <= SMALL_BLOCKS):
        yield PageOrder.by_key(place.table)
        return
    for block in range(0, blocks, STRETCH_BLOCKS):
        yield PageOrder((composing.SQL("j.ctid"),), ("tid",), (block, block + STRETCH_BLOCKS))
