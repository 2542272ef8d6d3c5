"""Which of the job table's tables are published with their changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops import sql

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

_BY_SCHEMA_SINCE = 150_000


def read(connection: Connection, table: JobTable) -> Mapping[int, tuple[str, ...]]:
    """The publications that carry UPDATEs or DELETEs, by the oid of the table: a partition has those above it too.

    Raises the driver's errors.
    """
    tree = connection.execute(sql.statement("stats/partition_tree"), {"oid": table.relation.oid}).fetchall()
    parents: dict[int, int | None] = {oid: parent for oid, _, _, parent, _ in tree}
    names = ["publications"]
    if connection.info.server_version >= _BY_SCHEMA_SINCE:
        names.append("publications_of_schemas")
    found: dict[int, set[str]] = {}
    for name in names:
        rows = connection.execute(sql.statement(f"stats/{name}"), {"oids": list(parents)}).fetchall()
        for oid, publication in rows:
            found.setdefault(oid, set()).add(publication)
    for oid, parent in parents.items():  # parents come first
        found.setdefault(oid, set()).update(found.get(parent or 0, ()))
    return {oid: tuple(sorted(publications)) for oid, publications in found.items() if publications}
