"""What the server says beside a VACUUM or ANALYZE that succeeded without having done anything."""

from __future__ import annotations

from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pgq_ops.logs import one_line

if TYPE_CHECKING:
    from collections.abc import Iterator

    from psycopg.errors import Diagnostic

    from pgq_ops.db.connection import Connection

_LOCK_NOT_AVAILABLE = "55P03"


@dataclass(slots=True)
class Warnings:
    """The warnings of one statement. Their texts differ by version and language: only the code tells of a lock."""

    texts: list[str] = field(default_factory=list)
    locked: bool = False

    def take(self, diagnostic: Diagnostic) -> None:
        """Take one in; mere notices are left out."""
        if (diagnostic.severity_nonlocalized or diagnostic.severity) == "WARNING":
            self.locked = self.locked or diagnostic.sqlstate == _LOCK_NOT_AVAILABLE
            self.texts.append(one_line(diagnostic.message_primary or ""))

    def __str__(self) -> str:
        return "; ".join(self.texts)


@contextmanager
def warnings_of(connection: Connection) -> Iterator[Warnings]:
    """Collect the warnings of what is run within."""
    warnings = Warnings()
    connection.add_notice_handler(warnings.take)
    try:
        yield warnings
    finally:
        connection.remove_notice_handler(warnings.take)
