"""What the points of the checklist are judged by: each fact is read once, by whichever point asks for it first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg

from pgq_ops.db.failures import is_connection_loss

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.checks.look import Look
    from pgq_ops.config.model import Config
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

    Reader = Callable[[Connection, JobTable], Any]

Fact = TypeVar("Fact")


@dataclass(slots=True)
class Examination:
    """One job table under examination. `look` is what the ordinary checks judge, with everything read that could be."""

    connection: Connection
    table: JobTable
    config: Config
    look: Look
    _facts: dict[Reader, Any] = field(default_factory=dict)
    _failures: dict[Reader, psycopg.Error] = field(default_factory=dict)

    def fact(self, reader: Callable[[Connection, JobTable], Fact]) -> Fact:
        """What the reader (a function of stats/) finds, read once. Raises its error, to each who asks."""
        if reader in self._failures:
            raise self._failures[reader]
        if reader not in self._facts:
            try:
                self._facts[reader] = reader(self.connection, self.table)
            except psycopg.Error as error:
                if not is_connection_loss(error):
                    self._failures[reader] = error
                raise
        found: Fact = self._facts[reader]
        return found
