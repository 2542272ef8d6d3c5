"""One collection of the job tables for the command."""

from __future__ import annotations

from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops.cli.job_tables import bind_tables, with_found_tables
from pgq_ops.cli.setting import telling_what_is_not_set
from pgq_ops.cli.several import united
from pgq_ops.db.connection import COMMAND_LIMITS, Purpose
from pgq_ops.db.failures import driver_errors
from pgq_ops.db.session import Session
from pgq_ops.exporter.collection import Collector
from pgq_ops.exporter.store import Store, exposition
from pgq_ops.leader.pooler import refuse_shared_process
from pgq_ops.logs import masked

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.errors import PgqOpsError


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
        tables = bind_tables(connection, with_found_tables(connection, loaded), names)
        collector.warn_after_seconds = loaded.config.transactions.warn_after.total_seconds()
        found = [("the database", collector.collect_database(bound.table for bound in tables.bound.values()))]
        found += [(bound.table.name, collector.collect(bound.table).failures) for bound in tables.bound.values()]
        for name, failed in found:
            for failure in failed:
                if failure.lost:
                    raise failure.error
                what = " ".join(masked(str(failure.error)).split())
                failures.append(f"{name}: the probe {failure.probe} failed: {what}")
    text = exposition(store) if tables.bound else ""
    return Report(text, tuple(failures), united(tables.errors.values()))
