"""Ends one session, if it is still the same one in the same transaction."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from pgq_ops import logs, metrics, sql
from pgq_ops.job_table.pasting import pasted
from pgq_ops.job_table.quoting import identifier
from pgq_ops.stats.session_ending import printed
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection

# A session ends within milliseconds, unless the system holds it up; then it ends when that is over.
WAIT_MS = 2_000

SESSIONS_ENDED = metrics.counter("sessions_ended_total", "Sessions ended because of their transaction.", ("database",))

log = logs.get("transactions")


class Fate(StrEnum):
    """What became of a session, or would: `gone` is one whose transaction was over already."""

    ENDED = "ended"
    GONE = "gone"
    REFUSED = "refused"
    NOT_PERMITTED = "not_permitted"
    STILL_THERE = "still_there"


_REFUSALS = {
    "ours": "it is a session of pgq-ops",
    "no client": "it is no client's session",
    "another database": "it is in another database",
    "superuser": "its role is a superuser, whose sessions pgq-ops never ends",
    "at work": "it is at work again",
}
_MAY_END, _NOT_PERMITTED = "may end", "not permitted"


@dataclass(frozen=True, slots=True)
class SessionEnd:
    """One session and what became of it; `reason` says why where it was not ended. Of a gone one nothing is known.

    `remedy`: the GRANT, where that is what it needs.
    `seconds`: since its transaction began; `idle_seconds`: since it last did anything in it, None while it is at work.
    """

    pid: int
    started: str
    fate: Fate
    reason: str = ""
    application_name: str = ""
    user: str = ""
    state: str = ""
    seconds: float | None = None
    idle_seconds: float | None = None
    remedy: str = ""

    @property
    def session(self) -> str:
        """PID@START."""
        return printed(self.pid, self.started)

    def __str__(self) -> str:
        words = ", ".join(word for word in (self.application_name, self.user and f"user {self.user}") if word)
        known = f" ({words})" if words else ""
        doing = "" if self.seconds is None else f", {self.state}, transaction open for {_whole(self.seconds)}"
        return f"session {self.session}{known}{doing}"

    def as_json(self) -> dict[str, Any]:
        """The session as `transactions end --json` shows it; null is what is not known."""
        known = self.seconds is not None
        return {
            "session": self.session,
            "pid": self.pid,
            "outcome": str(self.fate),
            "reason": self.reason or None,
            "application_name": self.application_name if known else None,
            "user": self.user if known else None,
            "state": self.state if known else None,
            "seconds": self.seconds,
            "idle_seconds": self.idle_seconds,
        }


def plan(connection: Connection, pid: int, started: str, idle_seconds: float | None = None) -> SessionEnd:
    """What `end` would do; `ended` stands for a session that would be. Reads only; raises the driver's errors."""
    return _asked(connection, pid, started, idle_seconds, act=False)


def end(connection: Connection, pid: int, started: str, why: str, idle_seconds: float | None = None) -> SessionEnd:
    """End the session if it is in the transaction that began at `started` (epoch seconds as text), and see it gone.

    `idle_seconds`: only if it has been idle in its transaction for so long. Counted, and logged with who, how long and
    `why`. Raises the driver's errors.
    """
    done = _asked(connection, pid, started, idle_seconds, act=True)
    if done.fate is Fate.ENDED:
        SESSIONS_ENDED.labels(connection.info.dbname).inc()
        log.info(
            "transactions.session_ended",
            session=done.session,
            application_name=done.application_name,
            user=done.user,
            state=done.state,
            seconds=round(done.seconds or 0.0, 1),
            why=why,
        )
    return done


def granting(group: str, role: str) -> str:
    """The GRANT of a predefined role."""
    return f"GRANT {group} TO {pasted(identifier(role))};"


def _asked(connection: Connection, pid: int, started: str, idle_seconds: float | None, *, act: bool) -> SessionEnd:
    values = {"pid": pid, "started": started, "idle_seconds": idle_seconds, "act": act, "wait_ms": WAIT_MS}
    [row] = connection.execute(sql.statement("transactions/end_session"), values).fetchall()
    role, unseen, application_name, user, state, seconds, idle, verdict, ended = row
    if verdict is None:
        if unseen:
            reason, grant = f"role {role} cannot see that session's transaction", granting("pg_monitor", role)
            return SessionEnd(pid, started, Fate.NOT_PERMITTED, reason, remedy=grant)
        return SessionEnd(pid, started, Fate.GONE, "that transaction is over")
    reason, grant = _REFUSALS.get(verdict, ""), ""
    if verdict == _MAY_END:
        fate = Fate.ENDED
        if act and not ended and _is_there(connection, values):
            fate, reason = Fate.STILL_THERE, f"it was told to end and had not after {format_duration(WAIT_MS / 1000)}"
    elif verdict == _NOT_PERMITTED:
        fate, reason = Fate.NOT_PERMITTED, f"role {role} may not end other roles' sessions"
        grant = granting("pg_signal_backend", role)
    else:
        fate = Fate.REFUSED
    return SessionEnd(pid, started, fate, reason, application_name, user, state or "", seconds, idle, grant)


def _is_there(connection: Connection, values: dict[str, Any]) -> bool:
    """Whether the session is there yet: one that ended by itself cannot be told that it should."""
    [row] = connection.execute(sql.statement("transactions/end_session"), values | {"act": False}).fetchall()
    return row[7] is not None


def _whole(seconds: float) -> str:
    return format_duration(float(round(seconds)))
