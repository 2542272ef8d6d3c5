"""Ready jobs that somebody holds locked: an empty claim does not mean an empty queue."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from psycopg import errors
from psycopg import sql as composing

from pgq_ops import sql
from pgq_ops.errors import NotPermitted
from pgq_ops.job_table.pasting import pasted
from pgq_ops.job_table.quoting import identifier
from pgq_ops.stats import bounded, claim_query

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from pgq_ops.db.connection import Connection
    from pgq_ops.job_table.table import JobTable

    # What stands in a row: the number in its xmax, and the table that it is in.
    Mark = tuple[int, int]

LOOKED_AT = 100
"""So many jobs are looked at: more than workers claim at a time, and a fraction of a millisecond."""
PARAMETERS = {"limit": LOOKED_AT}
"""Those of the look."""


@dataclass(frozen=True, slots=True)
class LockHolder:
    """A session that holds row locks on ready jobs; `seconds` since its transaction began (None: not visible).

    Of a prepared transaction `pid` is 0, `application_name` its gid, `state` `prepared`, and `seconds` counts from when
    it was prepared. `started`: its exact start (epoch seconds as text), as `pgq-ops transactions` prints it; empty
    where that is not visible. `xid`: the number of its transaction, 64 bits wide, which no other one ever has.
    `seen_seconds`: for how long it has been seen to hold ready jobs, at look after look. `superuser`: its role is one.
    """

    pid: int
    application_name: str
    user: str
    state: str
    seconds: float | None
    jobs: int
    started: str = ""
    xid: int = 0
    seen_seconds: float = 0.0
    superuser: bool = False


@dataclass(frozen=True, slots=True)
class ReadyLocked:
    """Of the first `looked_at` ready jobs (100 at most) in the claim's order, `locked` are held by somebody now.

    `holders`: whoever holds most first, without those that cannot be told. `xids`: the numbers of all the transactions
    and savepoints that hold them.
    """

    looked_at: int
    locked: int
    holders: tuple[LockHolder, ...] = ()
    xids: frozenset[int] = frozenset()


def look(table: JobTable) -> composing.SQL:
    """The look: worth keeping where it is made again and again."""
    return bounded.composed_once(sql.statement("stats/ready_locked", claim_query.fragments(table)))


def read(
    connection: Connection,
    table: JobTable,
    *,
    composed: composing.SQL | None = None,
    rows: bounded.Rows | None = None,
    lasting: Collection[int] | None = None,
) -> ReadyLocked | None:
    """Look once; None where no state is mapped as pending. `composed` is `look()`, if it was kept.

    `rows`: what that look returned with `PARAMETERS`, if it was just made.
    `lasting`: `xids` of an earlier look; the holders are asked for only where one of those is still there, as most
    locks last no longer than a claim. Any lock on a row counts: also that of a foreign key's check, which is in the way
    of FOR UPDATE alone. Raises NotPermitted with the GRANT, and the driver's errors: QueryCanceled where the ready jobs
    are not found in time.
    """
    if "pending" not in table.states:
        return None
    if rows is None:
        rows = _looked(connection, table, composed or look(table))
    looked_at, numbers, relations = rows[0]
    marks = Counter(zip(numbers or (), relations or (), strict=True))
    running = _running(connection, marks) if marks else {}
    locked = sum(jobs for mark, jobs in marks.items() if mark in running)
    xids = frozenset[int]().union(*running.values())
    asked = xids and (lasting is None or not xids.isdisjoint(lasting))
    return ReadyLocked(looked_at, locked, _holders(connection, marks, running) if asked else (), xids)


def _looked(connection: Connection, table: JobTable, composed: composing.SQL) -> bounded.Rows:
    try:
        return bounded.read(connection, table, composed, PARAMETERS, through_indexes=False, again=True)[0]
    except errors.InsufficientPrivilege as error:
        raise _not_permitted(connection, table) from error


def _not_permitted(connection: Connection, table: JobTable) -> NotPermitted:
    role = str(connection.execute("SELECT current_user", {}).fetchall()[0][0])
    grant = composing.SQL("GRANT SELECT (xmax, tableoid) ON TABLE {} TO {};").format(
        table.relation.sql, identifier(role)
    )
    what = f"role {role} may not read which rows are locked; run `pgq-ops grants` with its tiers again, or at least"
    return NotPermitted(what, pasted(grant))


def _running(connection: Connection, marks: Counter[Mark]) -> dict[Mark, frozenset[int]]:
    """The numbers of the running transactions and savepoints behind each mark, without the marks that have none."""
    parameters = {"numbers": [number for number, _ in marks], "relations": [relation for _, relation in marks]}
    found: dict[Mark, set[int]] = defaultdict(set)
    for number, relation, xid in connection.execute(sql.statement("stats/running_xids"), parameters).fetchall():
        found[number, relation].add(xid)
    return {mark: frozenset(xids) for mark, xids in found.items()}


def _holders(
    connection: Connection, marks: Counter[Mark], running: Mapping[Mark, frozenset[int]]
) -> tuple[LockHolder, ...]:
    pairs = {(xid, relation) for (_, relation), xids in running.items() for xid in xids}
    parameters = {"xids": [xid for xid, _ in pairs], "relations": [relation for _, relation in pairs]}
    sessions: dict[int, tuple[Any, ...]] = {}
    numbers: dict[int, set[int]] = defaultdict(set)
    for number, *session, xid in connection.execute(sql.statement("stats/row_lockers"), parameters).fetchall():
        sessions[xid] = tuple(session)
        numbers[xid].add(number)
    holders = []
    for xid, (pid, name, user, state, seconds, started, superuser) in sessions.items():
        jobs = sum(marks[mark] for mark, xids in running.items() if not xids.isdisjoint(numbers[xid]))
        age = None if seconds is None else max(0.0, seconds)
        holders.append(
            LockHolder(
                pid or 0, name or "", user or "", state or "", age, jobs, started or "", xid, superuser=superuser
            )
        )
    return tuple(sorted(holders, key=lambda holder: (-holder.jobs, holder.xid)))
