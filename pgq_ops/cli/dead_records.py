"""Whole dead letters for a command: those of one id at once, or all that are meant into a file as they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from psycopg import errors

from pgq_ops.binding import access
from pgq_ops.cli.dead_tables import each_table
from pgq_ops.cli.setting import session
from pgq_ops.cli.several import united
from pgq_ops.db.connection import COMMAND_LIMITS, WRITE_LIMITS
from pgq_ops.errors import ConfigError, NotPermitted, Problem
from pgq_ops.job_table.dead_place import dead_places
from pgq_ops.stats import dead_records

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.db.connection import Connection
    from pgq_ops.errors import PgqOpsError
    from pgq_ops.job_table.dead_filter import DeadFilter
    from pgq_ops.job_table.table import JobTable

# One id is one job, or as many as the job died times.
_MOST_SHOWN = 100


@dataclass(frozen=True, slots=True)
class Found:
    """The records (JSON texts), and what kept some job table from being looked at."""

    records: tuple[str, ...]
    error: PgqOpsError | None = None


@dataclass(frozen=True, slots=True)
class Exported:
    """One job table: how many records were written, and what went wrong, if anything."""

    name: str
    jobs: int
    error: PgqOpsError | None = None


def find(loaded: LoadedConfig, names: Sequence[str], wanted: DeadFilter, *, payload: bool) -> Found:
    """The dead letters that are meant, in the named job tables (all if none).

    Raises UsageError where there is no job table, DatabaseUnreachable, NotPermitted.
    """
    records: list[str] = []
    with session(loaded, "read the dead letters", limits=COMMAND_LIMITS) as connection:
        reader = _Reader(connection, wanted, payload=payload, limit=_MOST_SHOWN)
        ended = each_table(connection, loaded, names, lambda table: records.extend(reader.read(table)))
    return Found(tuple(records), united(error for error in ended.values() if error is not None))


def export_tables(
    loaded: LoadedConfig,
    names: Sequence[str],
    wanted: DeadFilter,
    write: Callable[[str], None],
    *,
    payload: bool,
    whole_row: bool,
    limit: int | None,
) -> tuple[Exported, ...]:
    """Give each record to `write`, at most `limit` of each job table; what is wrong with one keeps none back.

    Raises as `find`, and what `write` raises.
    """
    written: dict[str, int] = {}
    with session(loaded, "read the dead letters", limits=WRITE_LIMITS) as connection:
        reader = _Reader(connection, wanted, payload=payload, whole_row=whole_row, limit=limit)

        def export(table: JobTable) -> None:
            written[table.name] = 0
            for record in reader.read(table):
                write(record)
                written[table.name] += 1

        ended = each_table(connection, loaded, names, export)
    return tuple(Exported(name, written.get(name, 0), error) for name, error in ended.items())


@dataclass(frozen=True, slots=True)
class _Reader:
    connection: Connection
    wanted: DeadFilter
    payload: bool = False
    whole_row: bool = False
    limit: int | None = None

    def read(self, table: JobTable) -> Iterator[str]:
        """Place by place. Raises ConfigError, NotPermitted, the driver's errors."""
        if self.payload and "payload" not in table.fields:
            what = "is not mapped, or the role may not read it (`pgq-ops grants --payload` would let it)"
            raise ConfigError((Problem(f"job_tables.{table.name}.columns.payload", what),))
        left = self.limit
        for place in dead_places(table):
            records = dead_records.read(
                self.connection, place, self.wanted, limit=left, payload=self.payload, whole_row=self.whole_row
            )
            try:
                for record in records:
                    yield record
                    left = None if left is None else left - 1
            except errors.InsufficientPrivilege as error:
                if not (self.whole_row or self.payload):
                    raise
                where = place.relation
                remedy = access.grant(self.connection, "SELECT", (), where.schema, where.name)
                raise NotPermitted(f"the role may not read all that is asked for of {where}", remedy) from error
