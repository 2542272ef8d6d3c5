"""What was wrong with job tables some time ago, and when anybody looked, as the `pgq_ops` schema remembers it."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.stats import finding_turns
from pgq_ops.stats.finding_turns import Turn

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pgq_ops.db.connection import Connection

# More is no answer any more; the command says so.
MOST_FINDINGS = 1_000


@dataclass(frozen=True, slots=True)
class PastFinding:
    """One finding from its opening to its closing; times are epoch seconds by the database's clock.

    `turns`: what it said when it opened and since each turn, the earliest first; `latest`: what it said when it was
    seen last. `closed_at` None: nobody has seen it gone. `returns`: how often it came back within minutes. `mode`: of
    the agent that saw it.
    """

    id: str
    job_table: str
    mode: str
    opened_at: float
    last_seen_at: float
    closed_at: float | None
    returns: int
    worst_severity: str
    latest: Turn
    turns: tuple[Turn, ...]

    def at(self, moment: float) -> Turn:
        """What it said at a moment."""
        if moment >= self.last_seen_at:
            return self.latest
        return next((turn for turn in reversed(self.turns) if turn.at <= moment), self.turns[0])


@dataclass(frozen=True, slots=True)
class Stretch:
    """A time in which an agent looked at a job table again and again, in epoch seconds."""

    began_at: float
    last_at: float


@dataclass(frozen=True, slots=True)
class History:
    """What is remembered: findings, the latest first, and by job table when anybody looked, the earliest first.

    `complete` is False where there were more findings than MOST_FINDINGS.
    """

    findings: tuple[PastFinding, ...]
    watches: Mapping[str, tuple[Stretch, ...]]
    complete: bool = True


def read(connection: Connection, names: Sequence[str] | None, since: float, until: float, seen_since: float) -> History:
    """What was there from `since` until `until`, of the named job tables (None: all); raises the driver's errors.

    What nobody has seen gone counts if it was seen at `seen_since` or later.
    """
    window = {"since": since, "until": until, "seen_since": seen_since, "names": None if names is None else [*names]}
    query = sql.statement("log/finding_history")
    rows = connection.execute(query, window | {"most": MOST_FINDINGS + 1}).fetchall()
    turns = finding_turns.read(connection, [row[0] for row in rows])
    findings = []
    for row, job_table, mode, finding, opened_at, seen_at, closed_at, returns, worst, *latest in rows[:MOST_FINDINGS]:
        said = Turn(seen_at, *latest)
        times = (opened_at, seen_at, closed_at)
        findings.append(PastFinding(finding, job_table, mode, *times, returns, worst, said, turns.get(row, (said,))))
    watches: dict[str, list[Stretch]] = defaultdict(list)
    for name, began_at, last_at in connection.execute(sql.statement("log/watches"), window).fetchall():
        watches[name].append(Stretch(began_at, last_at))
    return History(tuple(findings), {name: tuple(there) for name, there in watches.items()}, len(rows) <= MOST_FINDINGS)
