"""What the reaper does with a running job, and when, or who would have to."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from pgq_ops.cli import why_commands
from pgq_ops.cli.inspection.lines import printable
from pgq_ops.cli.inspection.numbers import ago
from pgq_ops.cli.why_outlook import Obstacle, outlook
from pgq_ops.cli.why_wording import Said, capitalized, named
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.cli.why_facts import JobFacts
    from pgq_ops.cli.why_outlook import Outlook
    from pgq_ops.stats.task_runs import TaskRun


def told(facts: JobFacts) -> Iterator[Said]:
    """The sentences on a running job; none for any other."""
    seen = outlook(facts)
    if seen is None:
        return
    if seen.obstacle is not None:
        yield _left_alone(facts, seen, seen.obstacle)
    elif facts.reaper.reaping:
        yield from _agent(facts, seen)
    else:
        yield _nobody(facts, seen)


def _agent(facts: JobFacts, seen: Outlook) -> Iterator[Said]:
    """An agent reaps the table."""
    renewed = "" if seen.over else "unless its worker renews the lease, "
    if seen.late:
        late = f"The reaper should have taken it back by now: it {_deed(seen)} with one of its next passes."
        yield Said(late, why_commands.reap(facts))
    else:
        yield Said(capitalized(f"{renewed}the reaper {_deed(seen)} within {_soon(seen)}."))
    if seen.settling:
        settle = format_duration(facts.life.policy.reaper.settle)
        yield Said(
            f"The database started {ago(facts.reaper.uptime_seconds)} ago: for {settle} (reaper.settle) nothing is"
            " reaped, so that live workers can renew their leases."
        )
    if facts.mass_expired:
        yield Said(
            f"{facts.mass_expired:,} leases of its kind have expired (reaper.mass_expiry): the agent goes slowly,"
            " and it may take longer."
        )
    run = facts.reaper.run
    if run is not None and run.message:
        yield Said(f"Of the last pass, {ago(run.seconds_ago)} ago: {_first_line(run)}")


def _nobody(facts: JobFacts, seen: Outlook) -> Said:
    """No agent reaps the table, or none is known to."""
    run = facts.reaper.run
    deed = _deed(seen)
    if facts.reaper.reaping is False and run is not None:
        failed = f", and failed: {_first_line(run)}" if run.outcome == "failed" else ""
        why = f"no agent takes it back: the last pass of one was {ago(run.seconds_ago)} ago{failed}"
    elif facts.reaper.unread:
        why = f"whether an agent reaps could not be read just now; one that does {deed} within {_soon(seen)}"
    elif not facts.reaper.asked:
        section = named(f"[job_tables.{facts.table.name}.reaper]")
        why = f'by this configuration no agent takes it back (agent.mode = "manage" and a section {section} ask for it)'
    elif facts.reaper.recorded:
        why = "no agent has reaped this table yet"
    else:
        why = (
            "whether an agent reaps is not recorded where this role can read it (pgq-ops install, pgq-ops grants); one"
            f" that does {deed} within {_soon(seen)}"
        )
    then = "this" if seen.over else "once the lease is over, this"
    return Said(f"{capitalized(why)}. By hand, {then} {deed}:", why_commands.reap(facts))


def _left_alone(facts: JobFacts, seen: Outlook, obstacle: Obstacle) -> Said:
    policy = facts.life.policy
    if obstacle is Obstacle.PROBLEM:
        return Said(f"Nothing takes it back, as the table cannot be reaped: {printable(facts.reaper.problem)}")
    if obstacle is Obstacle.SWITCHED_OFF:
        of = "" if policy.queue is None else f" for queue {named(policy.queue)}"
        return Said(f"Reaping is switched off{of} (reaper.enabled = false): nothing takes it back, a person decides.")
    if obstacle is Obstacle.STALE:
        age = format_duration(policy.reaper.max_expired_age)
        return Said(
            f"That is longer ago than reaper.max_expired_age ({age}), so no agent takes it back. By hand, with all"
            f" others as old, this {_deed(seen)}:",
            why_commands.reap(facts, "--include-stale --dry-run", "--include-stale"),
        )
    if obstacle is Obstacle.NO_LEASE:
        return Said(f"Without a lease nothing takes it back ({_way_out(facts)}).")
    return Said("As long as its lease does not end, nothing takes it back.")


def _way_out(facts: JobFacts) -> str:
    if not (facts.has("leased_at") or facts.has("created_at")):
        return "map created_at and set lease.missing_after"
    if facts.life.policy.lease.missing_after is None:
        return "set lease.missing_after"
    return "when it was claimed or created is not known either"


def _soon(seen: Outlook) -> str:
    """The bound in whole seconds, none too few."""
    return ago(math.ceil(seen.within_seconds or 0))


def _deed(seen: Outlook) -> str:
    """`requeues it with 1m12s to 1m20s delay`, `buries it, as its attempts have reached the cap`."""
    if seen.buries is None:
        return "requeues or buries it (attempts are counted in the reap log, which cannot be read)"
    if seen.buries:
        return "buries it, as its attempts have reached the cap"
    if seen.delay_seconds is None:
        return "requeues it"
    shortest, longest = map(ago, seen.delay_seconds)
    return f"requeues it with {longest if shortest == longest else f'{shortest} to {longest}'} delay"


def _first_line(run: TaskRun) -> str:
    return printable(run.message.splitlines()[0]) if run.message else "no reason was recorded"
