"""Writes log lines from a thread of its own, so that a pipe nobody reads holds up nobody."""

from __future__ import annotations

import os
import queue
import threading
import time

# Some minutes of the worst; what comes on top is counted and left out.
MOST_WAITING = 10_000
_POLL_SECONDS = 0.01


class LogWriter:
    """Lines for one file descriptor. `put` never waits; lines that find no room are told of once there is some."""

    def __init__(self, descriptor: int, most: int = MOST_WAITING) -> None:
        self._descriptor = descriptor
        self._lines: queue.Queue[str] = queue.Queue(most)
        self._dropped = 0
        self._lock = threading.Lock()
        # Writes go past sys.stderr: its lock, held by a thread that hangs, would keep the interpreter from ending.
        threading.Thread(target=self._write_all, name="log-writer", daemon=True).start()

    def put(self, line: str) -> None:
        """Hand over a line."""
        try:
            self._lines.put_nowait(line)
        except queue.Full:
            with self._lock:
                self._dropped += 1

    def drain(self, seconds: float) -> bool:
        """Wait until all lines are written, at most so long; whether they are."""
        deadline = time.monotonic() + seconds
        while self._lines.unfinished_tasks:
            if time.monotonic() >= deadline:
                return False
            time.sleep(_POLL_SECONDS)
        return True

    def _write_all(self) -> None:
        while True:
            line = self._lines.get()
            with self._lock:
                dropped, self._dropped = self._dropped, 0
            if dropped:
                line += f"\n... {dropped} log lines were left out: nobody read them in time"
            self._write(f"{line}\n".encode("utf-8", "backslashreplace"))
            self._lines.task_done()

    def _write(self, data: bytes) -> None:
        while data:
            try:
                data = data[os.write(self._descriptor, data) :]
            except OSError:
                return  # closed: there is nobody to tell
