"""Who holds a job's row locked, and how that ends."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.cli.inspection.numbers import ago
from pgq_ops.cli.why_wording import Said, named
from pgq_ops.stats import session_ending

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.cli.why_facts import JobFacts
    from pgq_ops.stats.job_life_lock import RowLock

_MEANING = {
    "ready": "claims pass it over until that ends (a worker that holds its row while it works runs it in there)",
    "running": "the reaper passes it over until that ends",
    "dead": "a retry passes it over until that ends",
}


def told(facts: JobFacts) -> Iterator[Said]:
    """The lock on the row, or why it is not known whether there is one."""
    if facts.lock is not None:
        meaning = _MEANING.get(facts.life.state, "it cannot be changed until that ends")
        yield Said(f"Its row is locked by {_holder(facts.lock)}: {meaning}.", remedy(facts.lock))
    elif facts.lock_unknown:
        grant = (facts.lock_grant,) if facts.lock_grant else ()
        end = ":" if grant else "."
        yield Said(f"Whether somebody holds its row locked could not be seen {facts.lock_unknown}{end}", grant)


def remedy(lock: RowLock) -> tuple[str, ...]:
    """The command that ends it; none where it is not known what would."""
    if lock.gid is not None:
        return tuple(session_ending.prepared_remedy(lock.gid).splitlines())
    if lock.pid is None:
        return ()
    return (session_ending.remedy(lock.pid, lock.started, superuser=lock.superuser),)


def _holder(lock: RowLock) -> str:
    if lock.gid is None and lock.pid is None:
        return "a transaction whose session cannot be told"
    if lock.gid is not None:
        who, about = f"the prepared transaction {named(lock.gid)}", []
        since = "prepared {} ago"
    else:
        who = f"session {lock.pid}"
        about = [named(lock.application_name)] if lock.application_name else []
        since = f"{lock.state or 'running'}, its transaction open for {{}}"
    if lock.user:
        about.append(f"user {named(lock.user)}")
    if lock.seconds is not None:
        about.append(since.format(ago(lock.seconds)))
    others = f" and {lock.others} more" if lock.others else ""
    return f"{who} ({', '.join(about)}){others}" if about else f"{who}{others}"
