"""The configuration file under a running agent: whether it has changed, and that it is gone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops import logs
from pgq_ops.config.watch import FileWatch

if TYPE_CHECKING:
    from pathlib import Path

# Whoever puts another file in its place may take a moment; the looks are a second apart.
_LOOKS = 3

log = logs.get("agent")


class ConfigFile:
    """Looks at the file, if the configuration came from one. Without it the agent goes on as before."""

    def __init__(self, path: Path | None) -> None:
        self._path = path
        self._watch = None if path is None else FileWatch(path)
        self._away = 0

    def changed(self) -> bool:
        """Whether it is another than at the last look. That it is gone is logged, once."""
        if self._path is None or self._watch is None:
            return False
        self._away = 0 if self._path.exists() else self._away + 1
        if self._away == _LOOKS:
            log.warning("config.file_gone", path=str(self._path), hint="going on with what was read; a start needs it")
        return self._watch.changed()
