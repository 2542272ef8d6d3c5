"""One collection of the job tables for the command."""

from __future__ import annotations

from contextlib import closing
from typing import TYPE_CHECKING

from pgq_ops.cli.setting import bind_tables, with_found_tables
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


def collect(loaded: LoadedConfig, names: Sequence[str]) -> tuple[str, list[str]]:
    """The metrics of the named job tables (all if none) as text, and in a sentence each what is absent.

    Raises what binding raises, DatabaseUnreachable also where the database goes away meanwhile.
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
        connection = session.connection()
        for bound in bind_tables(connection, with_found_tables(connection, loaded), names):
            for failure in collector.collect(bound.table).failures:
                if failure.lost:
                    raise failure.error
                what = " ".join(masked(str(failure.error)).split())
                failures.append(f"{bound.table.name}: the probe {failure.probe} failed: {what}")
    return exposition(store), failures
