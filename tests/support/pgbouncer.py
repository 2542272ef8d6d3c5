"""A PgBouncer in front of the test server, where the program is installed."""

from __future__ import annotations

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

import psycopg
import pytest
from psycopg.conninfo import conninfo_to_dict, make_conninfo

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAM = shutil.which("pgbouncer", path=os.environ.get("PATH", "") + ":/usr/sbin")
needs_pgbouncer = pytest.mark.skipif(PROGRAM is None, reason="pgbouncer is not installed")


@contextmanager
def pooled(dsn: str, pool_mode: str, **settings: str) -> Iterator[str]:
    """Start a PgBouncer in `pool_mode` before the server of `dsn`; gives the DSN that leads through it."""
    with TemporaryDirectory(prefix="pgq-ops-pgbouncer-") as name:
        yield from _running(dsn, Path(name), {"pool_mode": pool_mode, **settings})


def _running(dsn: str, folder: Path, settings: dict[str, str]) -> Iterator[str]:
    assert PROGRAM is not None
    server = conninfo_to_dict(dsn)
    port = _free_port()
    users = folder / "users.txt"
    users.write_text(f'"{server["user"]}" "{server["password"]}"\n')
    lines = {
        "listen_addr": "127.0.0.1",
        "listen_port": str(port),
        "unix_socket_dir": "",
        "auth_type": "plain",
        "auth_file": str(users),
        "ignore_startup_parameters": "extra_float_digits",
        **settings,
    }
    target = f"host={server['host']} port={server['port']}"
    config = folder / "pgbouncer.ini"
    body = "\n".join(f"{key} = {value}" for key, value in lines.items())
    config.write_text(f"[databases]\n* = {target}\n[pgbouncer]\n{body}\n")
    process = subprocess.Popen([PROGRAM, "-q", str(config)], user=_user_owning(folder))
    try:
        through = make_conninfo(dsn, host="127.0.0.1", port=port)
        _wait_for(through, process)
        yield through
    finally:
        process.send_signal(signal.SIGINT)
        try:
            process.wait(5)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


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


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
