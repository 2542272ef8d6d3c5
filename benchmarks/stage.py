"""The server that the benchmarks share, and databases with a long history in it."""

from __future__ import annotations

import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import TYPE_CHECKING, Any, Self

import psycopg
from psycopg import sql as composing

from benchmarks import history
from pgq_ops.demo.binaries import find_binaries
from pgq_ops.demo.server import EmbeddedServer

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.scale import Scale

SETTINGS: dict[str, str | int] = {
    # Commits are flushed to disk, as by default. No checkpoint and no autovacuum falls into one measurement
    # and not into the other: both are run in between.
    "checkpoint_timeout": "1h",
    "max_wal_size": "16GB",
    "min_wal_size": "4GB",
    "autovacuum": "off",
    # What a server of this size would be given; the default of 128 MB would measure the disk.
    "shared_buffers": "2GB",
    "maintenance_work_mem": "256MB",
    "max_connections": 60,
    "TimeZone": "UTC",
}
_LIBRARY = "pg_stat_statements"
_FILE_COPY_SINCE = 150_000


@dataclass(slots=True)
class Stage:
    """A running server. As a context manager it is started, then stopped and removed."""

    scale: Scale
    parent: Path | None = None
    _server: EmbeddedServer | None = None
    _built: dict[int, str] = field(default_factory=dict)
    _numbers: Iterator[int] = field(default_factory=count)

    def __enter__(self) -> Self:
        """Start the server."""
        binaries = find_binaries()
        has_statements = any(binaries.bin.parent.glob(f"lib/**/{_LIBRARY}.*"))
        preload: dict[str, str | int] = {"shared_preload_libraries": _LIBRARY} if has_statements else {}
        self._server = EmbeddedServer(SETTINGS | preload, binaries, self.parent)
        self._server.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the server and remove its data."""
        self.server.close()

    @property
    def server(self) -> EmbeddedServer:
        """The server."""
        if self._server is None:
            raise ValueError("the stage was not entered")
        return self._server

    @contextmanager
    def database(self, rows: int) -> Iterator[str]:
        """A database of its own with so many finished jobs; gives its DSN, and drops it after."""
        if rows not in self._built:
            self._built[rows] = self._build(rows)
        name = f"bench_{next(self._numbers)}"
        with self._admin() as admin:
            # A copy of the files: the default would write all of it to the WAL.
            copying = composing.SQL("STRATEGY file_copy" if admin.info.server_version >= _FILE_COPY_SINCE else "")
            names = composing.Identifier(name), composing.Identifier(self._built[rows])
            admin.execute(composing.SQL("CREATE DATABASE {} TEMPLATE {} {}").format(*names, copying))
        try:
            yield self.server.dsn(name)
        finally:
            with self._admin() as admin:
                admin.execute(composing.SQL("DROP DATABASE {} WITH (FORCE)").format(composing.Identifier(name)))

    def _build(self, rows: int) -> str:
        name = f"history_{rows}"
        began = time.monotonic()
        with self._admin() as admin:
            admin.execute(composing.SQL("CREATE DATABASE {}").format(composing.Identifier(name)))
        with psycopg.connect(self.server.dsn(name), autocommit=True) as connection:
            history.build(connection, rows)
        print(f"built a table of {rows:,} finished jobs in {time.monotonic() - began:.0f} s", flush=True)
        return name

    def _admin(self) -> psycopg.Connection[Any]:
        return psycopg.connect(self.server.dsn(), autocommit=True)
