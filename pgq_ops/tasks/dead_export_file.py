"""The file that purged dead letters are written to, one JSON object a line, before they are deleted."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from io import FileIO
from typing import TYPE_CHECKING, NamedTuple

from pgq_ops.errors import ActionFailed, UsageError

if TYPE_CHECKING:
    from pathlib import Path

_ONLY_OURS = 0o600  # a payload may be anything
# Rows are handed to the system in pieces of this size.
_PIECE_BYTES = 1_048_576


class Mark(NamedTuple):
    """How far a file was written: its length in bytes, and its rows."""

    length: int
    rows: int


@dataclass(slots=True)
class ExportFile:
    """Made with the first rows, so that a purge of nothing leaves none behind; never written over."""

    path: Path
    rows: int = 0
    _file: FileIO | None = field(default=None, repr=False)
    _piece: bytearray = field(default_factory=bytearray, repr=False)

    def require_new(self) -> None:
        """Raise UsageError where the file is there already, or cannot be made."""
        if os.path.lexists(self.path):
            raise UsageError(f"{self.path} is there already: name another file with --export")
        folder = self.path.parent
        if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            raise UsageError(f"{self.path} cannot be made: {folder} is no folder that can be written to")

    def mark(self) -> Mark:
        """How far it is written, for `back_to`; nothing may be waiting for `sync`."""
        return Mark(0 if self._file is None else self._file.tell(), self.rows)

    def append(self, row: str) -> None:
        """Take a row (JSON text); raises ActionFailed where the disk does not."""
        # A JSON column keeps its line breaks, which mean nothing between its tokens and cannot be within them.
        self._piece += row.replace("\n", " ").replace("\r", " ").encode()
        self._piece += b"\n"
        self.rows += 1
        if len(self._piece) >= _PIECE_BYTES:
            self._write(sync=False)

    def sync(self) -> None:
        """Wait until the disk has all rows. Raises ActionFailed."""
        self._write(sync=True)

    def back_to(self, mark: Mark) -> None:
        """Forget what came since, which was not deleted after all."""
        self._piece.clear()
        if self._file is not None:
            self._file.seek(mark.length)
            self._file.truncate()
        self.rows = mark.rows

    def close(self) -> None:
        """Close the file; one without rows is removed."""
        if self._file is not None:
            self._file.close()
            self._file = None
            if not self.rows:
                self.path.unlink()

    def _write(self, *, sync: bool) -> None:
        if not self._piece and self._file is None:
            return
        try:
            file = self._open()
            while self._piece:
                del self._piece[: file.write(self._piece)]
            if sync:
                os.fsync(file.fileno())
        except OSError as error:
            raise ActionFailed(
                f"{self.path} could not be written, so nothing more was purged: {error.strerror}"
            ) from error

    def _open(self) -> FileIO:
        if self._file is None:
            descriptor = os.open(self.path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _ONLY_OURS)
            # Unbuffered: what could not be written must not come later, at the close.
            self._file = FileIO(descriptor, "w")
            folder = os.open(self.path.parent, os.O_RDONLY)
            try:
                os.fsync(folder)
            finally:
                os.close(folder)
        return self._file
