"""What the points of the checklist are judged by: each fact is read once, by whichever point asks for it first."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import psycopg

from pgq_ops.db.failures import is_connection_loss

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pgq_ops.checks.look import Look
    from pgq_ops.config.model import Config
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

    Reader = Callable[[Connection, JobTable], Any]

Fact = TypeVar("Fact")


class OutOfTime(Exception):
    """The time for the examination is over, and a fact was not read yet."""


@dataclass(slots=True)
class Examination:
    """One job table under examination. `look` is what the ordinary checks judge, with everything read that could be.

    `not_read`: why a section of the look has no value (see `TableView`). `over()`: whether no more may be read.
    """

    connection: Connection
    table: JobTable
    config: Config
    look: Look
    not_read: Mapping[str, str] = field(default_factory=dict)
    over: Callable[[], bool] = lambda: False
    _facts: dict[Reader, Any] = field(default_factory=dict)
    _failures: dict[Reader, psycopg.Error] = field(default_factory=dict)

    def fact(self, reader: Callable[[Connection, JobTable], Fact]) -> Fact:
        """What the reader (a function of stats/) finds, read once. Raises its error, to each who asks; OutOfTime."""
        if reader in self._failures:
            raise self._failures[reader]
        if reader not in self._facts:
            if self.over():
                raise OutOfTime
            try:
                self._facts[reader] = reader(self.connection, self.table)
            except psycopg.Error as error:
                if not is_connection_loss(error):
                    self._failures[reader] = error
                raise
        found: Fact = self._facts[reader]
        return found

    def why_not(self, section: str) -> str:
        """`: locked by another session just now`, to follow on what a section of the look would have told."""
        why = self.not_read.get(section, "")
        return f": {why}" if why else ""
