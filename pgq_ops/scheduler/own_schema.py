"""Writing to the `pgq_ops` schema where it is installed: what goes wrong there fails nothing else."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING

import psycopg

from pgq_ops import logs
from pgq_ops.db.failures import is_busy, is_connection_loss
from pgq_ops.db.wording import in_words
from pgq_ops.errors import NotPermitted, PgqOpsError
from pgq_ops.schema import versions

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.db.connection import Connection

# The schema may be installed, or the privilege granted, while the agent runs: one look at the catalog each time,
# so that it is noticed within half a minute, the wait for the next write included.
LOOK_AGAIN_SECONDS = 20.0

INSTALL = "`pgq-ops install` brings it up to date"
GRANTS = "`pgq-ops grants` prints what the role needs"

log = logs.get("journal")


@dataclass(slots=True)
class OwnSchema:
    """The schema from version `since` on, over the leader's connection; `what` is written there, for the log."""

    what: str
    since: int
    _usable: Connection | None = None
    _look_again_at: float = 0.0
    _complaint: str = ""

    def write(self, connection: Connection, write: Callable[[], object]) -> bool:
        """Whether it could be written.

        A schema that is not there is no mistake, and is looked for now and then; so is an older one, told once.
        """
        try:
            if not self._can_write(connection):
                return False
            write()
        except (psycopg.Error, PgqOpsError) as error:
            cause = error.__cause__ or error
            if not (is_connection_loss(cause) or is_busy(cause)):
                self._usable = None
                self._complain(error)
            return False
        return True

    def look_again(self) -> None:
        """Look for the schema at the next write: somebody may have reloaded the agent because it is there now."""
        self._look_again_at = 0.0

    def _can_write(self, connection: Connection) -> bool:
        now = time.monotonic()
        if self._usable is not connection and now >= self._look_again_at:
            self._look_again_at = now + LOOK_AGAIN_SECONDS
            installed = versions.installed(connection)
            self._usable = connection if (installed or 0) >= self.since else None
            if installed is not None and installed < self.since:
                self._tell(f"the pgq_ops schema is at version {installed}, before {self.since}", INSTALL)
        return self._usable is connection

    def _complain(self, error: Exception) -> None:
        self._tell(in_words(error), "" if isinstance(error, NotPermitted) else GRANTS)

    def _tell(self, text: str, hint: str) -> None:
        if text != self._complaint:
            self._complaint = text
            log.warning("journal.not_written", what=self.what, error=text, hint=hint)
