"""The flight recorder: what the probes' thread finds wrong is kept in the `pgq_ops` schema by the leader's session.

    recorder.note(table, findings, unjudged)         # the probes' thread, after each look
    recorder.write(connection, led)                  # the leader's thread, now and then

Only what a person would ask for is written: that a finding opened, what it said then and at each turn, that it closed,
and once a minute that it is still there and that somebody looks.
"""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

from pgq_ops.agent.finding_news import is_news, is_urgent
from pgq_ops.agent.noted_look import NotedLook, noted
from pgq_ops.scheduler.own_schema import OwnSchema
from pgq_ops.schema.findings import CONFIRM_SECONDS, FINDINGS_SINCE, FindingLog, prune

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable

    from pgq_ops.checks.finding import Finding
    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.schema.saying import Saying

# What names another session at each look would else fill the table: 1 KB a minute at most, and once there are as many
# turns as anybody reads, a tenth of that. A rise in severity waits for nothing; it can come twice in a row.
TURN_SECONDS = 60.0
MANY_TURNS = 100
RARE_TURN_SECONDS = 600.0


@dataclass(slots=True)
class _Open:
    """A finding that is open in the schema: its row, what it said there last, and when that was written."""

    row: int
    says: Saying
    changes: int
    written_at: float

    def has_turned(self, says: Saying, now: float) -> bool:
        """Whether what it says by now is to be written down."""
        if not is_news(self.says, says):
            return False
        wait = TURN_SECONDS if self.changes < MANY_TURNS else RARE_TURN_SECONDS
        return is_urgent(self.says, says) or now - self.written_at >= wait


@dataclass(slots=True)
class _Known:
    """What is open in the schema of one job table, as it was read and written over one connection."""

    connection: Connection
    table_oid: int
    open: dict[str, _Open]
    written: float = 0.0
    confirmed_at: float | None = None


@dataclass(frozen=True, slots=True)
class _Written:
    """How far a job table's looks are written: all that was over up to that number, and the last look, by its moment.

    Unlike what is open it is remembered across connections.
    """

    over: int = 0
    at: float = 0.0


@dataclass(slots=True)
class Recorder:
    """Records the findings of an agent in one mode. `note` belongs to the probes' thread, the rest to the leader's."""

    mode: str
    _noted: dict[str, NotedLook] = field(default_factory=dict)
    _known: dict[str, _Known] = field(default_factory=dict)
    _written: dict[str, _Written] = field(default_factory=dict)
    _schema: OwnSchema = field(default_factory=lambda: OwnSchema("findings", FINDINGS_SINCE))

    def note(self, table: JobTable, findings: Iterable[Finding], unjudged: Collection[str] = ()) -> None:
        """Take in a look at a job table that is led; what is missing is known to be gone unless it is `unjudged`."""
        before, written = self._noted.get(table.name), self._written.get(table.name, _Written())
        self._noted[table.name] = noted(before, table, findings, unjudged, written.over)

    def look_again(self) -> None:
        """Look for the schema at the next write."""
        self._schema.look_again()

    def write(self, connection: Connection, led: Collection[str]) -> None:
        """Write down what is new since the last time, of the job tables that this connection leads."""
        for name in self._known.keys() - led:
            del self._known[name]
        for name, look in list(self._noted.items()):
            if name not in led or time.monotonic() - look.at > CONFIRM_SECONDS:
                self._noted.pop(name, None)  # looked at before the table was lost: others may have led it since
                self._written.pop(name, None)
            elif not self._schema.write(connection, partial(self._record, connection, look)):
                self._known.pop(name, None)

    def prune(self, connection: Connection) -> None:
        """Forget what is old."""
        self._schema.write(connection, lambda: prune(connection))

    def _record(self, connection: Connection, look: NotedLook) -> None:
        log = FindingLog(connection, look.table, self.mode)
        known = self._read(log)
        if look.at == known.written:
            return
        now, ago = time.monotonic(), time.monotonic() - look.at
        self._record_over(log, known, look)
        for finding, since in look.since.items():
            there, says = known.open.get(finding), look.findings.get(finding)
            if there is None and (says is not None or since > self._written_of(look).at):
                row = log.opened(finding, look.first[finding], now - since)
                there = known.open[finding] = _Open(row, look.first[finding], 1, now)
            if there is not None and says is not None and there.has_turned(says, now):
                if log.changed(there.row, says, ago):
                    known.open[finding] = _Open(there.row, says, there.changes + 1, now)
                else:  # another agent closed it: it is opened again by the next look
                    del known.open[finding]
        for finding in known.open.keys() - look.findings.keys() - set(look.unjudged):
            log.closed(known.open.pop(finding).row, ago)
        if known.confirmed_at is None or now - known.confirmed_at >= CONFIRM_SECONDS:
            self._confirm(log, known, look, ago)
            known.confirmed_at = now
        known.written = look.at
        self._written[look.table.name] = _Written(self._written_of(look).over, look.at)

    def _record_over(self, log: FindingLog, known: _Known, look: NotedLook) -> None:
        """Write down what ended since the last write. What began before that, and is not open, another agent closed."""
        now, written = time.monotonic(), self._written_of(look)
        for one in look.over:
            if one.number > written.over:
                there = known.open.pop(one.finding, None)
                if there is not None:
                    log.closed(there.row, now - one.until)
                elif one.since > written.at:
                    log.closed(log.opened(one.finding, one.says, now - one.since), now - one.until)
                self._written[look.table.name] = _Written(one.number, written.at)

    def _written_of(self, look: NotedLook) -> _Written:
        return self._written.get(look.table.name, _Written())

    def _read(self, log: FindingLog) -> _Known:
        """What is open: over a new connection, or of another table, as whoever led before left it."""
        known, oid = self._known.get(log.table.name), log.table.relation.oid
        if known is None or known.connection is not log.connection or known.table_oid != oid:
            now = time.monotonic()
            there = {one.finding: _Open(one.row, one.says, one.changes, now) for one in log.open()}
            known = self._known[log.table.name] = _Known(log.connection, oid, there)
        return known

    def _confirm(self, log: FindingLog, known: _Known, look: NotedLook, ago: float) -> None:
        log.watched()
        seen = {one.row: look.findings[finding] for finding, one in known.open.items() if finding in look.findings}
        still = log.confirmed(seen, ago)
        for finding, one in list(known.open.items()):
            if one.row in seen and one.row not in still:
                del known.open[finding]
