"""What the schema remembers of findings: each time that something was wrong, as an agent saw it, and how long."""

from __future__ import annotations

import os
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from psycopg.types.json import Jsonb

from pgq_ops import sql
from pgq_ops.schema.saying import Saying

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

FINDINGS_SINCE = 3
"""The version of the schema that remembers findings."""
# Who looks into last night's incident does it within days; a fortnight also covers a holiday.
KEEP_SECONDS = 14 * 86_400.0
PRUNE_BATCH = 5_000
# What comes back within so many seconds was never over, to a person. It keeps a finding that comes and goes with each
# look from filling the table: that is one row, and one that comes and goes more slowly at most 288 a day.
GONE_SECONDS = 300.0
# An open finding is confirmed, and the watch extended, once a minute: after three missed ones nobody looks any more.
CONFIRM_SECONDS = 60.0
UNWATCHED_SECONDS = 3 * CONFIRM_SECONDS


@dataclass(frozen=True, slots=True)
class OpenFinding:
    """A finding that is open by the schema: its row, what it said when it opened or last changed, how often it did."""

    row: int
    finding: str
    says: Saying
    changes: int


@dataclass(frozen=True, slots=True)
class FindingLog:
    """The findings of one job table as agents in one mode see them. Each method raises psycopg.Error.

    `ago`: seconds since the look that showed it.
    """

    connection: Connection
    table: JobTable
    mode: str

    def open(self) -> tuple[OpenFinding, ...]:
        """What is open, whoever left it so."""
        parameters = {"table_oid": self.table.relation.oid, "job_table": self.table.name, "mode": self.mode}
        rows = self.connection.execute(sql.statement("log/findings_open"), parameters).fetchall()
        return tuple(OpenFinding(row, finding, Saying(*says), changes) for row, finding, *says, changes in rows)

    def opened(self, finding: str, says: Saying, ago: float) -> int:
        """Remember that a finding is there; returns its row: an earlier one's, if that is open still or again."""
        parameters = self._seen_by() | _stored(says) | {"finding": finding, "ago": ago, "gone": GONE_SECONDS}
        [(row,)] = self.connection.execute(sql.statement("log/finding_open"), parameters).fetchall()
        return int(row)

    def changed(self, row: int, says: Saying, ago: float) -> bool:
        """Remember that an open finding says something else; False where it is open no longer."""
        parameters = _stored(says) | {"id": row, "ago": ago}
        return self.connection.execute(sql.statement("log/finding_change"), parameters).fetchone() is not None

    def closed(self, row: int, ago: float) -> None:
        """Remember that an open finding is gone."""
        self.connection.execute(sql.statement("log/finding_close"), {"id": row, "ago": ago})

    def watched(self) -> None:
        """Remember that somebody looks at the table; closes what is left open by agents that do no longer.

        Those are agents in the other mode, or that have another name for the table in their config.
        """
        parameters = self._seen_by() | {"gap": UNWATCHED_SECONDS}
        self.connection.execute(sql.statement("log/watch_extend"), parameters)
        self.connection.execute(sql.statement("log/findings_hand_over"), parameters)

    def confirmed(self, sayings: Mapping[int, Saying], ago: float) -> Collection[int]:
        """Remember what open findings, by their rows, say by now; returns the rows of those that are open still."""
        if not sayings:
            return ()
        seen = [{"id": row, **_plain(says)} for row, says in sayings.items()]
        parameters = {"seen": Jsonb(seen), "ago": ago}
        rows = self.connection.execute(sql.statement("log/findings_seen"), parameters).fetchall()
        return {int(row) for (row,) in rows}

    def _seen_by(self) -> dict[str, Any]:
        by = {"host": socket.gethostname(), "pid": os.getpid()}
        return {"table_oid": self.table.relation.oid, "job_table": self.table.name, "mode": self.mode, **by}


def prune(connection: Connection) -> int:
    """Forget what is older than 14 days, at most a batch of each kind; returns the findings and watches deleted.

    Raises psycopg.Error.
    """
    batch = {"keep_seconds": KEEP_SECONDS, "batch": PRUNE_BATCH}
    connection.execute(sql.statement("log/delete_old_finding_changes"), batch)
    deleted = connection.execute(sql.statement("log/delete_old_findings"), batch).rowcount
    return deleted + connection.execute(sql.statement("log/delete_old_watches"), batch).rowcount


def _stored(says: Saying) -> dict[str, Any]:
    plain = _plain(says)
    return {**plain, "severity": says.severity, "evidence": Jsonb(plain["evidence"])}


def _plain(says: Saying) -> dict[str, Any]:
    kept = says.storable()
    return {"summary": kept.summary, "evidence": kept.evidence, "remedy": kept.remedy}
