"""Times without a zone: what they are taken to mean, said where nobody chose it and the server suggests another."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.job_table.columns import TimeKind

if TYPE_CHECKING:
    from pgq_ops.config.model import Database
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

# The tz database's names of UTC, and of those zones that never differ from it.
_LIKE_UTC = frozenset({"utc", "uct", "gmt", "gmt0", "gmt+0", "gmt-0", "greenwich", "universal", "zulu"})


def naive_time_notes(connection: Connection, table: JobTable, database: Database) -> list[str]:
    """A note where naive times are mapped, `database.timezone` is not given and the server's zone is not like UTC.

    Workers that write now() into such a column write the server's zone: every lease is then hours off. Raises the
    driver's errors.
    """
    naive = {mapped.name or field: None for field, mapped in table.fields.items() if mapped.time is TimeKind.TIMESTAMP}
    if not naive or "timezone" in database.model_fields_set:
        return []
    row = connection.execute(sql.statement("catalog/session_time_zone"), {}).fetchone()
    zone = "UTC" if row is None else str(row[0])
    if zone.lower().removeprefix("etc/") in _LIKE_UTC:
        return []
    columns, meant = ", ".join(naive), database.timezone
    note = (
        f"{columns} of {table} hold times without a zone, and they are taken for {meant}, but the server's own zone is"
        f' {zone}: set database.timezone (timezone = "{zone}" under [database] where workers write now(),'
        f' timezone = "{meant}" if they do write {meant})'
    )
    return [note]
