"""An embedded PostgreSQL server: throw-away, on this machine only, gone when its owner is gone."""

from __future__ import annotations

import os
import secrets
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING, Self

from psycopg.conninfo import make_conninfo

from pgq_ops.demo.account import runnable_by, server_account
from pgq_ops.demo.binaries import Binaries, find_binaries
from pgq_ops.demo.initdb import EmbeddedServerError, make_data
from pgq_ops.demo.lifeline import Lifeline
from pgq_ops.demo.ports import free_port
from pgq_ops.demo.server_folder import ServerFolder, clear_leftovers

if TYPE_CHECKING:
    from collections.abc import Mapping

_START_SECONDS = 60.0  # a busy machine with two cores needed 2
_STOP_SECONDS = 20.0
_READY_LINE = 7  # of postmaster.pid, counted from 0 (PostgreSQL: pidfile.h, LOCK_FILE_LINE_PM_STATUS)
_SOCKET_PATH_BYTES = 107  # what a Unix socket's address can hold


class EmbeddedServer:
    """One server with its own data folder. As a context manager it is started, then stopped and removed.

    `settings` are server settings by name. The superuser is `postgres`, with a random password.
    Making one takes the time of an initdb, about half a second. `parent` is where its folder goes,
    the temporary directory if not given.
    """

    def __init__(
        self,
        settings: Mapping[str, str | int] | None = None,
        binaries: Binaries | None = None,
        parent: Path | None = None,
    ) -> None:
        place = parent or Path(tempfile.gettempdir())
        clear_leftovers(place)
        self.settings = dict(settings or {})
        self.password = secrets.token_urlsafe(12)
        self.port = 0
        self._account = server_account()
        self._process: Lifeline | None = None
        self.binaries = runnable_by(self._account, binaries or find_binaries())
        self.folder = ServerFolder(place)
        try:
            make_data(self.folder, self.binaries, self._account, self.password)
        except BaseException:
            self.folder.remove()
            raise

    def __enter__(self) -> Self:
        """Start the server; what cannot be started is removed."""
        try:
            self.start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        """Stop the server and remove its data."""
        self.close()

    @property
    def running(self) -> bool:
        """Whether the server's process lives."""
        return self._process is not None and self._process.running

    def dsn(self, dbname: str = "postgres") -> str:
        """Connection string of the superuser for one database, with its password."""
        return make_conninfo(host="127.0.0.1", port=self.port, user="postgres", password=self.password, dbname=dbname)

    def start(self) -> None:
        """Start and wait until connections are accepted. Raises EmbeddedServerError with the log's end."""
        if self.running:
            return
        # Another process may take a port between our look and the server's start.
        for port in [self.port] if self.port else [free_port() for _ in range(5)]:
            self.port = port
            if self._launch():
                return
            log_end = "\n".join(self.folder.log.read_text(errors="replace").splitlines()[-12:])
            if "Address already in use" not in log_end:
                break
        raise EmbeddedServerError(f"the embedded PostgreSQL {self.binaries.version} did not start:\n{log_end}")

    def stop(self) -> None:
        """End it in order: sessions are closed, data is written. Falls back to `kill()`."""
        if not self._end("INT"):
            self.kill()

    def kill(self) -> None:
        """End it at once, as a crash would; the next start recovers from the log."""
        if not self._end("QUIT") and not self._end("KILL"):
            raise EmbeddedServerError(f"the embedded PostgreSQL on {self.folder.data} does not stop")

    def restart(self, settings: Mapping[str, str | int] | None = None) -> None:
        """Stop, change settings where given, start on the same port with the same data."""
        self.stop()
        self.settings.update(settings or {})
        self.start()

    def close(self) -> None:
        """Stop the server and remove its data; may be called twice."""
        self.kill()
        self.folder.remove()

    def _launch(self) -> bool:
        """Start the process and wait for it to be ready; False if it ended instead."""
        before = self._status()  # a killed server leaves its file behind
        command = [self.binaries.program("postgres"), *self._arguments()]
        self._process = Lifeline(command, folder=self.folder.path, log=self.folder.log, account=self._account)
        deadline = time.monotonic() + _START_SECONDS
        while self.running and time.monotonic() < deadline:
            status = self._status()
            if status != before and status[_READY_LINE : _READY_LINE + 1] == ["ready"]:
                return True
            time.sleep(0.01)
        self.kill()
        return False

    def _arguments(self) -> list[str]:
        sockets = self.folder.sockets
        fits = len(os.fsencode(sockets / f".s.PGSQL.{self.port}")) <= _SOCKET_PATH_BYTES
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": self.port,
            "unix_socket_directories": f'"{sockets}"' if fits else "",  # a list: quoted, or a comma would split it
            **self.settings,
        }
        pairs = (f"{name}={value}" for name, value in settings.items())
        # The data folder comes first: by it leftovers are recognised (server_folder.py).
        return ["-D", str(self.folder.data), *(word for pair in pairs for word in ("-c", pair))]

    def _status(self) -> list[str]:
        try:
            return [line.strip() for line in (self.folder.data / "postmaster.pid").read_text().splitlines()]
        except FileNotFoundError:
            return []

    def _end(self, signal_name: str) -> bool:
        if self._process is not None and self._process.end(signal_name, _STOP_SECONDS):
            self._process = None
        return self._process is None
