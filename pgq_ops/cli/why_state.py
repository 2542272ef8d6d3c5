"""What a job is now: the first sentence of its life, by its state."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.wording import command
from pgq_ops.cli import why_commands
from pgq_ops.cli.inspection.lines import printable
from pgq_ops.cli.inspection.numbers import ago
from pgq_ops.cli.why_wording import Said, clock, named, relative, since
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.cli.why_facts import JobFacts

_INFINITE = {
    "infinity": "its lease never ends (infinity)",
    "-infinity": "its lease has always been over (-infinity)",
}


def told(facts: JobFacts) -> Iterator[Said]:
    """The sentences on the job's state."""
    tell = {
        "running": _running,
        "ready": _ready,
        "scheduled": _scheduled,
        "done": _finished,
        "dead": _dead,
        "cancelled": _finished,
        "blocked": _blocked,
    }
    yield from tell.get(facts.life.state, _unknown)(facts)


def attempts_made(facts: JobFacts) -> str:
    """`after 2 of 5 attempts`; empty where attempts are not kept in the table."""
    life = facts.life
    if life.attempts is None:
        return ""
    return f"after {life.attempts:,} of {life.max_attempts:,} attempts" if life.max_attempts else ""


def _running(facts: JobFacts) -> Iterator[Said]:
    life = facts.life
    first = "Running" + (f" by {named(life.owner)}" if life.owner else "")
    if facts.has("owner") and not life.owner:
        first += ", nobody knows by whom"
    if "leased_at" in life.times:
        first += f", claimed {relative(life.times['leased_at'], facts.now)}"
    if "heartbeat_at" in life.times:
        first += f", last heartbeat {relative(life.times['heartbeat_at'], facts.now)}"
    parts = [_lease(facts)]
    if life.attempt is not None:
        parts.append(f"attempt {life.attempt:,} of {life.max_attempts:,}")
    yield Said(f"{first}; {', '.join(parts)}.")
    limit = life.policy.lease.max_runtime
    at_most = "" if limit is None else f" ({format_duration(limit)})"
    if limit is not None and not facts.has("leased_at"):
        yield Said(
            f"For how long it has been running cannot be told, so neither whether that is longer than lease.max_runtime"
            f"{at_most}: leased_at is not mapped."
        )
    if life.overlong:
        yield Said(f"Its lease has been kept alive for longer than lease.max_runtime{at_most}: the worker may hang.")
    if life.future:
        yield Said("Its lease ends further ahead than any can: a clock is wrong, or database.timezone.")


def _lease(facts: JobFacts) -> str:
    life = facts.life
    end = life.times.get("lease_expires_at")
    if life.lease is None:
        return "no column is mapped that tells its lease"
    if life.lease == "missing":
        return "it has no lease"
    if end is None:
        return "when its lease ends is not known (lease.timeout)"
    return (
        _INFINITE[end.at] if end.seconds_ago is None else _lease_end(facts, end.seconds_ago, clock(end.at, facts.now))
    )


def _lease_end(facts: JobFacts, seconds_ago: float, at: str) -> str:
    if seconds_ago < 0:
        return f"its lease ends in {ago(-seconds_ago)} ({at})"
    over = f"lease expired {ago(seconds_ago)} ago ({at})"
    if facts.life.lease == "live":
        return f"{over}, still within the grace of {format_duration(facts.life.policy.lease.grace)}"
    return over


def _ready(facts: JobFacts) -> Iterator[Said]:
    life = facts.life
    available, created = life.times.get("available_at"), life.times.get("created_at")
    first = "Ready"
    if available is not None:
        first += f" {since(available, facts.now)}"
    elif created is not None:
        first += f", created {relative(created, facts.now)}"
    yield Said(f"{first}{_comma(attempts_made(facts) if life.attempts else '')}.")


def _scheduled(facts: JobFacts) -> Iterator[Said]:
    available = facts.life.times.get("available_at")
    made = _comma(attempts_made(facts) if facts.life.attempts else "")
    if available is None or available.seconds_ago is None:
        yield Said(f"Scheduled for a time that never comes ({'-' if available is None else available.at}){made}.")
    else:
        yield Said(f"Scheduled: due {relative(available, facts.now)}{made}; until then no worker claims it.")


def _finished(facts: JobFacts) -> Iterator[Said]:
    life = facts.life
    finished = life.times.get("finished_at")
    first = life.state.capitalize()
    if finished is not None:
        first += f" {since(finished, facts.now)}"
    if life.owner:
        first += f", by {named(life.owner)}"
    yield Said(f"{first}{_comma(attempts_made(facts))}.")


def _dead(facts: JobFacts) -> Iterator[Said]:
    life = facts.life
    finished = life.times.get("finished_at")
    first = f"Dead{f' {since(finished, facts.now)}' if finished is not None else ''}"
    if life.moved:
        first += f", moved to {named(life.table)}"
    owner = f"; last held by {named(life.owner)}" if life.owner else ""
    shown = () if life.id is None else (command("pgq-ops", "dead", "show", operands=[life.id, facts.table.name]),)
    yield Said(f"{first}{_comma(attempts_made(facts))}{owner}.", () if life.error else shown)
    if life.error:
        yield Said(f"Its error begins: {printable(life.error)}", shown)
    if life.id is not None:
        retry = command("pgq-ops", "dead", "retry", operands=[facts.table.name], options=["--id", life.id])
        yield Said("Nothing runs it again unless somebody retries it:", why_commands.acting(facts, retry))


def _blocked(facts: JobFacts) -> Iterator[Said]:
    yield Said(
        f"Blocked{_comma(attempts_made(facts) if facts.life.attempts else '')}: it waits for what its library says."
    )


def _unknown(facts: JobFacts) -> Iterator[Said]:
    value = facts.life.state_value
    shown = "NULL" if value is None else f"'{named(value)}'"
    what = f"Its state is {shown}, which" if facts.has("state") else "Its state is one that"
    where = f"job_tables.{facts.table.name}.states"
    yield Said(f"{what} is mapped to nothing: pgq-ops leaves it alone. Add it to {named(where)}.")


def _comma(text: str) -> str:
    return f", {text}" if text else ""
