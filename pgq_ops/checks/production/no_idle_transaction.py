"""A transaction that is held while a job is worked on keeps its row locks, and VACUUM from removing dead rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.naming import quoted
from pgq_ops.checks.production.verdict import found, passed, unknown
from pgq_ops.checks.wording import counted
from pgq_ops.stats import idle_holders
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "transaction-through-work"
TITLE = "No transaction is held through the work"

# Between two statements of one transaction a client thinks for milliseconds, or some other service answers first; this
# long is work.
_WORK_SECONDS = 5.0


def check(examination: Examination) -> Verdict:
    """A warning for sessions that have been idle in a transaction over the job table for that long, just now."""
    held = examination.fact(idle_holders.read)
    at_work = [one for one in held.sessions if one.seconds >= _WORK_SECONDS]
    if at_work:
        first = at_work[0]
        who = f"pid {first.pid}, {first.application_name or 'no application_name'}, user {first.user}"
        return found(
            Finding(
                ID,
                Severity.WARNING,
                f"{counted(len(at_work), 'session')} with locks on {examination.table} idle in a transaction, for up"
                f" to {format_duration(first.seconds)} ({who}): where that is a worker, it should commit the claim"
                " before the work",
                {
                    "sessions": [
                        {
                            "pid": one.pid,
                            "application_name": one.application_name,
                            "user": one.user,
                            "idle_seconds": round(one.seconds, 1),
                        }
                        for one in at_work[:10]
                    ]
                },
                "-- the statement that each of them ran last:\n"
                "SELECT pid, usename, application_name, xact_start, query FROM pg_stat_activity"
                f" WHERE pid IN ({', '.join(str(one.pid) for one in at_work[:10])});",
            )
        )
    if not held.visible:
        role = examination.connection.info.user
        return unknown("this role does not see what other sessions do", f"GRANT pg_monitor TO {quoted(role)};")
    if held.hidden:
        who = f"{counted(held.hidden, 'session')} with locks on the table"
        return unknown(
            f"{who} under track_activities = off: whether idle is not known",
            "-- as a superuser\nALTER SYSTEM SET track_activities = on;\nSELECT pg_reload_conf();",
        )
    return passed("no session with locks on the table is idle in a transaction just now")
