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
        yield Said("Whether somebody holds its row locked could not be seen:", (facts.lock_unknown,))


def remedy(lock: RowLock) -> tuple[str, ...]:
    """The command that ends it; none where it is not known what would."""
    if lock.gid is not None:
        return (session_ending.prepared_remedy(lock.gid),)
    if lock.pid is None:
        return ()
    return (session_ending.remedy(lock.pid, lock.started, superuser=lock.superuser),)


def _holder(lock: RowLock) -> str:
    if lock.gid is not None:
        words = [f"the prepared transaction {named(lock.gid)}"]
        state = f"prepared for {ago(lock.seconds)}" if lock.seconds is not None else ""
    else:
        words = [f"session {lock.pid}"]
        state = lock.state or ""
        if lock.seconds is not None:
            state = f"{state}, its transaction open for {ago(lock.seconds)}".removeprefix(", ")
    about = [
        named(lock.application_name) if lock.application_name else "",
        f"user {named(lock.user)}" if lock.user else "",
    ]
    inside = ", ".join(part for part in (*about, state) if part)
    return f"{words[0]} ({inside})" if inside else words[0]
