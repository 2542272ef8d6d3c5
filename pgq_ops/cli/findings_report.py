"""What is remembered of the time that was asked for, job table by job table."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

from psycopg import errors

from pgq_ops import sql
from pgq_ops.cli.findings_moments import moment
from pgq_ops.cli.setting import session
from pgq_ops.config.validation import did_you_mean
from pgq_ops.errors import NotPermitted, UsageError
from pgq_ops.job_table.pasting import pasted
from pgq_ops.job_table.quoting import identifier
from pgq_ops.schema import versions
from pgq_ops.schema.findings import CONFIRM_SECONDS, GONE_SECONDS, KEEP_SECONDS, UNWATCHED_SECONDS
from pgq_ops.stats import finding_history
from pgq_ops.stats.finding_sayings import standings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pgq_ops.config.load import LoadedConfig
    from pgq_ops.db.connection import Connection
    from pgq_ops.stats.finding_history import History, PastFinding, Stretch
    from pgq_ops.stats.finding_sayings import Standing

DEFAULT_SINCE = timedelta(hours=24)
_GRANT = "GRANT SELECT ON TABLE pgq_ops.finding, pgq_ops.finding_change, pgq_ops.watch TO {};"


@dataclass(frozen=True, slots=True)
class TableHistory:
    """One job table: what was wrong, the latest first, and when anybody looked, the earliest first."""

    name: str
    findings: tuple[PastFinding, ...]
    watches: tuple[Stretch, ...]


@dataclass(frozen=True, slots=True)
class Report:
    """The time asked for: one moment where `at` is set, else all since `since`. Epoch seconds, database clock."""

    database: str
    now: float
    at: float | None
    since: float
    tables: tuple[TableHistory, ...]
    complete: bool

    def is_open(self, finding: PastFinding) -> bool:
        """Whether it is there now, by an agent that looks still."""
        return finding.closed_at is None and self.now - finding.last_seen_at < UNWATCHED_SECONDS

    def end(self, finding: PastFinding) -> float:
        """Until when it was there, as far as anybody saw."""
        if finding.closed_at is not None:
            return finding.closed_at
        return max(self.now, finding.last_seen_at) if self.is_open(finding) else finding.last_seen_at

    def stood(self, table: TableHistory, finding: PastFinding) -> tuple[Standing, ...]:
        """What a finding of the table said, the earliest first, and for how long."""
        return standings(finding, self.end(finding), self.watched(table))

    def lasted(self, finding: PastFinding) -> float:
        """For how many seconds it was there, those in which it was gone for minutes only included."""
        return max(0.0, self.end(finding) - finding.opened_at)

    def there_at_least(self, finding: PastFinding) -> float:
        """For how many seconds it was there for certain.

        Each return is a turn: at most the time since the turn before, and never more than GONE_SECONDS, it was gone.
        """
        turns = pairwise(turn.at for turn in finding.turns)
        gone = sorted((min(GONE_SECONDS, after - before) for before, after in turns), reverse=True)[: finding.returns]
        unknown = GONE_SECONDS * (finding.returns - len(gone))
        return max(0.0, self.lasted(finding) - sum(gone) - unknown)

    def watched(self, table: TableHistory) -> tuple[tuple[float, float], ...]:
        """The times in which somebody looked, the earliest first; they may overlap."""
        return tuple(
            (one.began_at, self.now if self.now - one.last_at < UNWATCHED_SECONDS else one.last_at + CONFIRM_SECONDS)
            for one in table.watches
        )

    def is_watched_at(self, table: TableHistory, moment: float) -> bool:
        """Whether somebody looked then."""
        return any(began <= moment <= ended for began, ended in self.watched(table))

    def gaps(self, table: TableHistory) -> tuple[tuple[float, float], ...]:
        """The times since `since` in which nobody looked, the earliest first."""
        found, seen_until = [], self.since
        for began, ended in self.watched(table):
            if began > seen_until:
                found.append((seen_until, began))
            seen_until = max(seen_until, ended)
        return (*found, (seen_until, self.now)) if seen_until < self.now else tuple(found)


def report_of(loaded: LoadedConfig, names: Sequence[str], *, at: str | None, since: str | None) -> Report:
    """Read what is remembered of the named job tables, or of all that are configured or remembered.

    Raises UsageError for a time or a name that means nothing, NotInstalled without the schema, NotPermitted,
    DatabaseUnreachable.
    """
    with session(loaded, "read what was wrong") as connection:
        versions.require(connection, "the history of findings")
        [(now,)] = connection.execute(sql.statement("stats/clock"), {}).fetchall()
        now_there = datetime.fromtimestamp(now, UTC)
        asked = None if at is None else moment(at, now_there, "--at").timestamp()
        begin = now_there - DEFAULT_SINCE if since is None else moment(since, now_there, "--since")
        first = begin.timestamp() if asked is None else asked
        history = _read(connection, names, first, now if asked is None else asked, exactly=asked is not None)
        info = connection.info
        database = f"{info.dbname} on {info.host or 'a local socket'}:{info.port} as {info.user}"
    known = dict.fromkeys([*loaded.config.job_tables, *sorted(history.watches)])
    for name in names:
        if name not in known:
            there = did_you_mean(name, known) or (f"there are {', '.join(known)}" if known else "there is none")
            raise UsageError(f'"{name}" is no job table that is configured or remembered: {there}')
    tables = tuple(
        TableHistory(
            name,
            tuple(one for one in history.findings if one.job_table == name),
            history.watches.get(name, ()),
        )
        for name in dict.fromkeys(names) or known
    )
    return Report(database, now, asked, max(first, now - KEEP_SECONDS), tables, history.complete)


def _read(connection: Connection, names: Sequence[str], since: float, until: float, *, exactly: bool) -> History:
    # What nobody saw end may have been there at any moment after; in a list it would stand for a fortnight.
    seen_since = 0.0 if exactly else since
    try:
        return finding_history.read(connection, names or None, since, until, seen_since)
    except errors.InsufficientPrivilege as error:
        [(role,)] = connection.execute("SELECT current_user").fetchall()
        quoted = pasted(identifier(role))
        raise NotPermitted("this role may not read what was wrong", _GRANT.format(quoted)) from error
