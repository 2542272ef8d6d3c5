"""Says in words what a retry or a purge of dead letters did, or would do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.cli.inspection.lines import printable
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pgq_ops.job_table.cascade import Cascade
    from pgq_ops.tasks.dead_purge import PurgeResult
    from pgq_ops.tasks.dead_retry_result import RetryResult
    from pgq_ops.tasks.dead_tally import DeadCounts

# A screen has room for no more; --json has more of them.
MOST_CONFLICTS = 20
MOST_IDS = 10


def question_of_retry(plan: Sequence[tuple[str, RetryResult]]) -> str:
    """What to ask before the plan is carried out."""
    parts = [
        f"{_jobs(result.counts.jobs)} of {printable(name)}{_aged(result)}{_promised(result)}, {_spread(result)}"
        for name, result in plan
    ]
    return f"Retry {'; '.join(parts)}?"


def question_of_purge(plan: Sequence[tuple[str, PurgeResult]]) -> str:
    """What to ask before the plan is carried out."""
    parts = [f"{_jobs(result.counts.jobs)} of {printable(name)}, {_destination(result)}" for name, result in plan]
    return f"Delete for good {'; '.join(parts)}?"


def lines_of_retry(name: str, result: RetryResult) -> Iterator[str]:
    """One job table for people, without what went wrong with it as a whole."""
    counts = result.counts
    if counts.jobs:
        verb = _verb(counts.jobs, "retried", dry_run=result.dry_run)
        jobs = f"{_jobs(counts.jobs)}{_aged(result)}"
        yield f"{printable(name)}: {jobs} {verb} with {_attempts(result)}, {_spread(result)}"
    yield from _rest(name, counts, "retry")
    yield from _cascades(result.cascades, dry_run=result.dry_run)


def lines_of_purge(name: str, result: PurgeResult) -> Iterator[str]:
    """One job table for people, without what went wrong with it as a whole."""
    counts = result.counts
    if counts.jobs:
        verb = _verb(counts.jobs, "deleted", dry_run=result.dry_run)
        yield f"{printable(name)}: {_jobs(counts.jobs)} {verb}, {_destination(result)}"
    yield from _rest(name, counts, "purge")
    yield from _cascades(result.cascades, dry_run=result.dry_run)


def _rest(name: str, counts: DeadCounts, verb: str) -> Iterator[str]:
    if not counts.jobs and not counts.refused and not counts.locked and not counts.busy:
        yield f"{printable(name)}: no dead job to {verb}"
    elif not counts.jobs:
        yield f"{printable(name)}: no dead job could be had"
    if counts.jobs and counts.ids:
        more = ", ..." if counts.jobs > len(counts.ids[:MOST_IDS]) else ""
        yield f"  jobs {', '.join(map(printable, counts.ids[:MOST_IDS]))}{more}"
    if counts.moved:
        yield f"  {counts.moved:,} of them from the dead-letter table"
    yield from _conflicts(counts)
    if counts.locked:
        more = ", ..." if counts.locked > len(counts.locked_ids) else ""
        yield f"  passed over, as another session has them: {', '.join(map(printable, counts.locked_ids))}{more}"
    if counts.busy:
        yield f"  locked by somebody else just now, and left as they are: {', '.join(map(printable, counts.busy))}"
    if counts.not_found:
        yield f"  not dead, or not there: {', '.join(map(printable, counts.not_found))}"


def _conflicts(counts: DeadCounts) -> Iterator[str]:
    if counts.refused:
        yield f"  refused by the database, and left as they are: {counts.refused:,}"
        for conflict in counts.conflicts[:MOST_CONFLICTS]:
            job, table, reason = map(printable, (conflict.id or "?", conflict.table, conflict.reason))
            yield f"    job {job} of {table}: {reason}"
        if counts.refused > MOST_CONFLICTS:
            yield f"    and {counts.refused - MOST_CONFLICTS:,} more: --json tells of up to {len(counts.conflicts):,}"


def _cascades(cascades: Sequence[Cascade], *, dry_run: bool) -> Iterator[str]:
    if cascades:
        yield "  foreign keys change other tables too, so it needs --cascade:" if dry_run else "  through foreign keys:"
        for one in cascades:
            yield f"    {printable(str(one))}"


def _aged(result: RetryResult) -> str:
    """Where an age was asked for that is not the time since the death: what it is."""
    return " (by when they were created)" if result.age_since == "created_at" else ""


def _promised(result: RetryResult) -> str:
    """What the question says of attempts: where it is not what was asked for."""
    return f" with {_attempts(result)}" if _capped(result) else ""


def _attempts(result: RetryResult) -> str:
    if result.attempts_left is None:
        return "fresh attempts"
    least, most = result.attempts_left
    if most == 1:
        return f"1 attempt left{_capped(result)}"
    return f"{least if least == most else f'{least} to {most}'} attempts left{_capped(result)}"


def _capped(result: RetryResult) -> str:
    """Where a job's cap leaves fewer runs than were asked for."""
    asked = result.extra_attempts
    if result.attempts_left is None or asked is None or result.attempts_left[0] >= asked:
        return ""
    return f" ({asked} is more than the cap of attempts)"


def _spread(result: RetryResult) -> str:
    if not result.rate or not result.counts.jobs:
        return "all at once"
    return f"{result.rate:g} a second, the last in {format_duration(result.spread_seconds)}"


def _destination(result: PurgeResult) -> str:
    return "without an export" if result.export is None else f"exported to {printable(result.export)}"


def _jobs(number: int) -> str:
    return "1 dead job" if number == 1 else f"{number:,} dead jobs"


def _verb(number: int, done: str, *, dry_run: bool) -> str:
    if dry_run:
        return f"would be {done}"
    return f"{'was' if number == 1 else 'were'} {done}"
