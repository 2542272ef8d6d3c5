"""The benchmarks' job table, bound as the commands and the agent bind theirs."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from pgq_ops.binding.bind import bind
from pgq_ops.config.load import load
from pgq_ops.db.connection import Limits, Purpose
from pgq_ops.db.session import Session

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

CONFIG = """
[job_tables.jobs]
table = "public.demo_queue_jobs"
preset = "lease"
[job_tables.jobs.reaper]
# Never more than all of the running jobs: the guard against a mass expiry would spread one pass over many.
mass_expiry = { fraction = 1.0, minimum = 100 }
"""


@dataclass(frozen=True, slots=True)
class Bound:
    """A session of the agent's kind and the job table on it."""

    session: Session
    table: JobTable

    @property
    def connection(self) -> Connection:
        """The session's connection."""
        return self.session.connection()


@contextmanager
def bound(dsn: str, purpose: Purpose, limits: Limits, config: str = CONFIG) -> Iterator[Bound]:
    """Open a session, read-only for probes, and bind the one job table of `config`."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "pgq-ops.toml"
        path.write_text(config, encoding="utf-8")
        loaded = load(path, {"PGQ_OPS_DSN": dsn}, {})
    session = Session(loaded.config.database, purpose, limits, read_only=purpose is Purpose.PROBES)
    try:
        [(name, table)] = loaded.config.job_tables.items()
        yield Bound(session, bind(session.connection(), name, table, loaded.config.database).table)
    finally:
        session.close()
