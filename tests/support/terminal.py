"""A terminal for a command: a pseudo-terminal of some size, and what was written to it."""

from __future__ import annotations

import fcntl
import os
import pty
import select
import struct
import subprocess
import termios
import time
from typing import TYPE_CHECKING, Self

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path


class Terminal:
    """Runs a command on a terminal; `written` is what it has shown so far. Use it as a context manager."""

    def __init__(
        self, command: Sequence[str], cwd: Path, env: Mapping[str, str], columns: int = 80, rows: int = 40
    ) -> None:
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        kept = {name: value for name, value in env.items() if name not in ("COLUMNS", "LINES", "NO_COLOR")}
        # Started in the foreground of a session of its own, so that Ctrl-C is the terminal's.
        self.process = subprocess.Popen(
            command,
            cwd=cwd,
            env={**kept, "TERM": "xterm-256color"},
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            start_new_session=True,
            preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),  # noqa: PLW1509 (no threads here)
        )
        os.close(theirs)
        self.written = ""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._ours)

    def until(self, text: str, seconds: float = 30.0) -> str:
        """Wait until the text was written; returns what was written up to its end, and forgets that."""
        deadline = time.monotonic() + seconds
        while text not in self.written:
            assert self._read(deadline - time.monotonic()), f"no {text!r} in {self.written!r}"
        before, _, self.written = self.written.partition(text)
        return before + text

    def press(self, keys: str) -> None:
        """Type."""
        os.write(self._ours, keys.encode())

    def ended(self, seconds: float = 30.0) -> tuple[int, str]:
        """The exit code, and what was written since."""
        deadline = time.monotonic() + seconds
        while self._read(deadline - time.monotonic()):
            pass
        return self.process.wait(max(0.1, deadline - time.monotonic())), self.written

    def _read(self, seconds: float) -> bool:
        """Take what comes within the time; False at the end or when nothing came."""
        if not select.select([self._ours], [], [], max(0.0, seconds))[0]:
            return False
        try:
            found = os.read(self._ours, 65_536)
        except OSError:  # how a terminal says that the other end is closed
            return False
        self.written += found.decode(errors="replace")
        return bool(found)
