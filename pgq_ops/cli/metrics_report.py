"""One collection of the job tables for the command."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops.binding.bare import bare
from pgq_ops.cli.job_tables import bind_tables, with_found_tables
from pgq_ops.cli.setting import telling_what_is_not_set
from pgq_ops.cli.several import united
from pgq_ops.db.connection import COMMAND_LIMITS, Purpose
from pgq_ops.db.failures import driver_errors, is_busy
from pgq_ops.db.session import Session
from pgq_ops.exporter.collection import Collector
from pgq_ops.exporter.store import Store, exposition
from pgq_ops.leader.pooler import refuse_shared_process
from pgq_ops.logs import masked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.cli.job_tables import Tables
    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.db.connection import Connection
    from pgq_ops.errors import PgqOpsError
    from pgq_ops.job_table.table import JobTable


@dataclass(frozen=True, slots=True)
class Report:
    """The metrics as text; a sentence for each that is absent; what is wrong with tables that have none at all."""

    text: str
    absent: tuple[str, ...]
    error: PgqOpsError | None


def collect(loaded: LoadedConfig, names: Sequence[str]) -> Report:
    """Collect from the named job tables (all if none).

    Raises DatabaseUnreachable, also where the database goes away meanwhile, UsageError where there is no job table.
    """
    session = Session(
        loaded.config.database,
        Purpose.COMMAND,
        COMMAND_LIMITS,
        read_only=True,
        direct=True,
        check=refuse_shared_process,
    )
    store = Store()
    failures = []
    with closing(session), driver_errors("collect the metrics"):
        collector = Collector(session, store)
        with telling_what_is_not_set(loaded):
            connection = session.connection()
        loaded = with_found_tables(connection, loaded)
        tables = bind_tables(connection, loaded, names)
        collector.warn_after_seconds = loaded.config.transactions.warn_after.total_seconds()
        locked = _locked(connection, loaded, tables)
        every = [*(bound.table for bound in tables.bound.values()), *locked]
        found = [("the database", collector.collect_database(every))]
        for table in locked:
            collector.unreachable(table.name)
        found += [(bound.table.name, collector.collect(bound.table).failures) for bound in tables.bound.values()]
        for name, failed in found:
            for failure in failed:
                if failure.lost:
                    raise failure.error
                what = " ".join(masked(str(failure.error)).split())
                failures.append(f"{name}: the probe {failure.probe} failed: {what}")
    text = exposition(store) if tables.bound or locked else ""
    return Report(text, tuple(failures), united(tables.errors.values()))


def _locked(connection: Connection, loaded: LoadedConfig, tables: Tables) -> list[JobTable]:
    """Those that somebody holds locked: nothing of them can be read, and who waits for them can all the same."""
    config = loaded.config
    busy = [name for name, error in tables.errors.items() if error.__cause__ is not None and is_busy(error.__cause__)]
    return [bare(connection, name, config.job_tables[name], config.database) for name in busy]
