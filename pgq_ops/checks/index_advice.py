"""The statement that makes a missing index: on a partitioned table leaf by leaf, so that no write waits."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from pgq_ops.checks.pasted_sql import plain, predicate
from pgq_ops.job_table.quoting import identifier

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.job_table.table import JobTable, Relation
    from pgq_ops.stats.partition_tree import Branch

# PostgreSQL cuts longer names (NAMEDATALEN - 1), maybe to one that is taken.
_LONGEST_NAME = 63
# An index's predicate must be immutable.
_CHANGING = re.compile(
    r"\b(now|clock_timestamp|statement_timestamp|random)\s*\(|\b(current|local)_?time", re.IGNORECASE
)


def running_index(table: JobTable, tree: Sequence[Branch]) -> str:
    """The index that leads to running jobs.

    On the key where leases are extended: an index on the lease column makes every heartbeat write to all
    indexes (performance.md, Which index). On the lease column only where nothing extends it.
    """
    extended = "lease_expires_at" in table.fields or "heartbeat_at" in table.fields
    claimed = table.fields.get("leased_at")
    if not extended and claimed is not None and claimed.name is not None:
        return _statements(table, tree, "running", [_column(claimed.name)])
    return _statements(table, tree, "running", _key(table))


def pending_index(table: JobTable, tree: Sequence[Branch]) -> str:
    """The index that leads to pending jobs in the order in which they are claimed."""
    order = [_column(name) + (" DESC" if descending else "") for name, descending in table.claim_order]
    return _statements(table, tree, "pending", order or _key(table))


def dead_index(table: JobTable, tree: Sequence[Branch]) -> str:
    """The index that leads to dead jobs, by `finished_at` where that is a column: it is written once, at the death."""
    finished = table.fields.get("finished_at")
    columns = _key(table) if finished is None or finished.name is None else [_column(finished.name)]
    return _statements(table, tree, "dead", columns)


def _key(table: JobTable) -> list[str]:
    if table.key:
        return [_column(part.name) for part in table.key if part.name != "tableoid"]
    names = [table.fields[field].name for field in ("id", "available_at", "state") if field in table.fields]
    return [_column(name) for name in names if name is not None][:1]


def _column(name: str) -> str:
    return plain(identifier(name))


def _statements(table: JobTable, tree: Sequence[Branch], state: str, columns: list[str]) -> str:
    where = predicate(table, state)
    if not columns or _CHANGING.search(table.states[state].where or ""):
        return ""
    body = f"({', '.join(columns)}) WHERE {where}"
    if not table.partitioned:
        return f"CREATE INDEX CONCURRENTLY {_quoted_name(table.relation, state)} ON {plain(table.relation.sql)} {body};"
    lines = []
    for branch in tree:
        name, relation = _quoted_name(branch.relation, state), plain(branch.relation.sql)
        how = "INDEX CONCURRENTLY" if branch.leaf else "INDEX"
        where_to = relation if branch.leaf else f"ONLY {relation}"
        lines.append(f"CREATE {how} {name} ON {where_to} {body};")
    for branch in tree:
        if branch.parent is not None:
            index, part = (_qualified_name(relation, state) for relation in (branch.parent, branch.relation))
            lines.append(f"ALTER INDEX {index} ATTACH PARTITION {part};")
    return "\n".join(lines)


def _quoted_name(relation: Relation, state: str) -> str:
    return plain(identifier(_name(relation, state)))


def _qualified_name(relation: Relation, state: str) -> str:
    return plain(identifier(relation.schema, _name(relation, state)))


def _name(relation: Relation, state: str) -> str:
    """A name for the index: the table's, and what it is for; a long one is told apart by the table's oid."""
    suffix = f"_pgq_ops_{state}"
    name = relation.name.encode()
    if len(name) + len(suffix) > _LONGEST_NAME:
        suffix = f"_{relation.oid}{suffix}"
        name = name[: _LONGEST_NAME - len(suffix)]
    return name.decode(errors="ignore") + suffix
