"""Noticing that the configuration file was changed."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pathlib import Path


class FileWatch:
    """Remembers how a file looked. Cheap enough to ask every few seconds.

    Editors put a new file in the place of the old one, and Kubernetes points a link elsewhere: both give the
    path another inode. While the file is away nothing has changed, as it may come back the same.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._seen = self._look()

    def changed(self) -> bool:
        """Whether the file is another than at the last call, or than at the beginning."""
        now = self._look()
        if now is None or now == self._seen:
            return False
        self._seen = now
        return True

    def _look(self) -> tuple[int, int, int, int] | None:
        try:
            status = self.path.stat()
        except OSError:
            return None
        return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns
