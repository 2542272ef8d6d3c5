"""A PgBouncer in front of the test server, where the program is installed."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Self

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

from tests.support.agent import free_port

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = shutil.which("pgbouncer", path=os.environ.get("PATH", "") + ":/usr/sbin")
needs_pgbouncer = pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed")


class PgBouncer:
    """A pooler in `pool_mode` before the server of a DSN, with further `settings`; runs within its context.

    `dsn` leads through it. It keeps its port when it is stopped and started again.
    """

    def __init__(self, dsn: str, pool_mode: str, **settings: str) -> None:
        self.port = free_port()
        self.dsn = make_conninfo(dsn, host="127.0.0.1", port=self.port)
        self._server = conninfo_to_dict(dsn)
        self._settings = {"pool_mode": pool_mode, **settings}
        self._folder = TemporaryDirectory(prefix="pgq-ops-pgbouncer-")
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self._configure(Path(self._folder.name))
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()
        self._folder.cleanup()

    def start(self) -> None:
        assert PROGRAM is not None
        folder = Path(self._folder.name)
        self._process = subprocess.Popen([PROGRAM, "-q", str(folder / "pgbouncer.ini")], user=_user_owning(folder))
        _wait_for(self.dsn, self._process)

    def stop(self) -> None:
        """End it at once, and the sessions through it."""
        process, self._process = self._process, None
        if process is not None:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()

    def _configure(self, folder: Path) -> None:
        users = folder / "users.txt"
        users.write_text(f'"{self._server["user"]}" "{self._server["password"]}"\n')
        lines = {
            "listen_addr": "127.0.0.1",
            "listen_port": str(self.port),
            "unix_socket_dir": "",
            "auth_type": "plain",
            "auth_file": str(users),
            "ignore_startup_parameters": "extra_float_digits",
            **self._settings,
        }
        target = f"host={self._server['host']} port={self._server['port']}"
        body = "\n".join(f"{key} = {value}" for key, value in lines.items())
        (folder / "pgbouncer.ini").write_text(f"[databases]\n* = {target}\n[pgbouncer]\n{body}\n")


@contextmanager
def pooled(dsn: str, pool_mode: str, **settings: str) -> Iterator[str]:
    """Start a PgBouncer in `pool_mode` before the server of `dsn`; gives the DSN that leads through it."""
    with PgBouncer(dsn, pool_mode, **settings) as pooler:
        yield pooler.dsn


def _user_owning(folder: Path) -> int | None:
    """As root it refuses to run: then it runs as `nobody`, who gets the folder."""
    if os.geteuid() != 0:
        return None
    nobody = pwd.getpwnam("nobody").pw_uid
    for path in (folder, *folder.iterdir()):
        os.chown(path, nobody, -1)
    return nobody


def _wait_for(dsn: str, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 10
    while True:
        assert process.poll() is None, "pgbouncer ended"
        try:
            psycopg.connect(dsn, connect_timeout=2).close()
        except psycopg.OperationalError:
            assert time.monotonic() < deadline, "pgbouncer does not answer"
            time.sleep(0.05)
        else:
            return
