"""The file that purged dead letters are written to, one JSON object a line, before they are deleted."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from io import FileIO
from typing import TYPE_CHECKING

from pgq_ops.errors import ActionFailed, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

_ONLY_OURS = 0o600  # a payload may be anything


@dataclass(slots=True)
class ExportFile:
    """Made with the first rows, so that a purge of nothing leaves none behind; never written over."""

    path: Path
    rows: int = 0
    _file: FileIO | None = field(default=None, repr=False)

    def require_new(self) -> None:
        """Raise UsageError where the file is there already, or cannot be made."""
        if os.path.lexists(self.path):
            raise UsageError(f"{self.path} is there already: name another file with --export")
        folder = self.path.parent
        if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
            raise UsageError(f"{self.path} cannot be made: {folder} is no folder that can be written to")

    def write(self, rows: Iterable[str]) -> int:
        """Append rows (JSON text each) and wait for the disk; returns the length before, for `back_to`.

        Raises ActionFailed where the disk does not take them.
        """
        # A JSON column keeps its line breaks, which mean nothing between its tokens and cannot be within them.
        written = [row.replace("\n", " ").replace("\r", " ") + "\n" for row in rows]
        before = 0
        try:
            file = self._open()
            before = file.tell()
            left = memoryview("".join(written).encode())
            while left:
                left = left[file.write(left) :]
            os.fsync(file.fileno())
        except OSError as error:
            self.back_to(before, 0)
            raise ActionFailed(
                f"{self.path} could not be written, so nothing more was purged: {error.strerror}"
            ) from error
        self.rows += len(written)
        return before

    def back_to(self, length: int, rows: int) -> None:
        """Forget the last `rows`, which were not deleted after all."""
        if self._file is not None:
            self._file.seek(length)
            self._file.truncate()
            self.rows -= rows

    def close(self) -> None:
        """Close the file; one without rows is removed."""
        if self._file is not None:
            self._file.close()
            self._file = None
            if not self.rows:
                self.path.unlink()

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
