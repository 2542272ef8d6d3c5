"""The folder of one embedded server, and the removal of those whose owner was killed.

The owner holds a lock on a file in the folder for as long as it lives. The kernel lets go of it
however the owner ends, so unlike a process id it is never mistaken for somebody else's.
"""

from __future__ import annotations

import fcntl
import os
import shutil
import signal
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import IO

_PREFIX = "pgq-ops-server-"
_NEW_PREFIX = "pgq-ops-new-"
_OWNER_FILE = "owner"
_STOP_SECONDS = 10.0


class ServerFolder:
    """A folder in `parent` that is ours until `remove()` or the end of this process."""

    def __init__(self, parent: Path) -> None:
        # Made under another name first: a folder is not to be found before its lock is held.
        fresh = Path(tempfile.mkdtemp(prefix=f"{_NEW_PREFIX}{os.getpid()}-", dir=parent))
        fresh.chmod(0o711)  # the server's account passes through to its data
        self._lock: IO[str] = (fresh / _OWNER_FILE).open("w")
        fcntl.flock(self._lock, fcntl.LOCK_EX)
        self.path = fresh.rename(fresh.with_name(_PREFIX + fresh.name.removeprefix(_NEW_PREFIX)))

    @property
    def data(self) -> Path:
        """The server's data folder."""
        return self.path / "data"

    @property
    def sockets(self) -> Path:
        """Where the server puts its Unix sockets."""
        return self.path / "sockets"

    @property
    def log(self) -> Path:
        """What the server writes to stderr."""
        return self.path / "server.log"

    def remove(self) -> None:
        """Remove everything; the server must have ended."""
        shutil.rmtree(self.path, ignore_errors=True)
        self._lock.close()


def clear_leftovers(parent: Path) -> list[Path]:
    """Stop and remove our own servers in `parent` whose owner is gone; returns the folders that were removed."""
    removed = []
    for path in parent.glob(f"{_PREFIX}*"):
        with suppress(OSError):  # somebody else's, still in use, or being cleared by another process
            if path.is_symlink() or path.lstat().st_uid != os.geteuid():
                continue
            with (path / _OWNER_FILE).open("r+") as lock:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _stop_server(path / "data")
                shutil.rmtree(path, ignore_errors=True)
                removed.append(path)
    return removed


def _stop_server(data: Path) -> None:
    """End the postmaster that runs on `data`, if one does. Raises OSError if it does not go."""
    pid = _postmaster(data)
    if pid is None:
        return
    for order in (signal.SIGQUIT, signal.SIGKILL):
        os.kill(pid, order)
        deadline = time.monotonic() + _STOP_SECONDS
        while time.monotonic() < deadline:
            if _postmaster(data) is None:
                return
            time.sleep(0.02)
    raise TimeoutError(f"process {pid} on {data} does not end")


def _postmaster(data: Path) -> int | None:
    """The postmaster's process id, if that process really is a server on this very data folder."""
    try:
        pid = int((data / "postmaster.pid").read_text().split("\n", 1)[0])
        command = Path(f"/proc/{pid}/cmdline").read_text().split("\0")
    except (OSError, ValueError):
        return None
    is_ours = Path(command[0]).name == "postgres" and command[1:3] == ["-D", str(data)]
    return pid if is_ours else None
