"""Whether a bound table has all that reaping needs; reading commands go on without it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.errors import Problem
from pgq_ops.job_table.giving_back import takes_notes

if TYPE_CHECKING:
    from pgq_ops.job_table.table import JobTable


def reaping_problems(table: JobTable) -> list[Problem]:
    """What the mapping lacks for reaping, one problem each; empty if nothing."""
    key = f"job_tables.{table.name}"
    problems: list[Problem] = []
    if not table.has_lease:
        what = "no column tells when a lease ends"
        problems.append(
            Problem(f"{key}.columns", what, "map lease_expires_at, or heartbeat_at or leased_at with lease.timeout")
        )
    needed = ("pending", "running") if table.dead_letters is not None else ("pending", "running", "dead")
    for state in needed:
        rule = table.states.get(state)
        if rule is None:
            hint = "or set reaper.dead_letter_table" if state == "dead" else ""
            problems.append(Problem(f"{key}.states.{state}", "is needed to reap, and not mapped", hint))
        elif state != "running" and not rule.writes:
            what = "can be read but not written, so the table cannot be reaped"
            hint = 'add set = { column = "expression" }' if rule.where else "columns.state must be a plain column"
            problems.append(Problem(f"{key}.states.{state}", what, hint))
    attempts = table.fields.get("attempts")
    if attempts is None and not table.key:
        what = (
            "is not mapped, and without a primary key they cannot be counted elsewhere: a row's place changes with it"
        )
        problems.append(Problem(f"{key}.columns.attempts", what, "map it, or give the table a primary key"))
    for policy in table.policies:
        place = key if policy.queue is None else f"{key}.queues.{policy.queue}"
        if policy.reaper.attempts_counted_at == "reap" and attempts is not None and attempts.name is None:
            problems.append(
                Problem(f"{place}.reaper.attempts_counted_at", "columns.attempts cannot be written", 'use "claim"')
            )
        if "lease_expires_at" not in table.fields and table.has_lease and policy.lease.timeout is None:
            problems.append(
                Problem(f"{place}.lease.timeout", "is needed with heartbeat_at or leased_at", 'such as "5m"')
            )
    available = table.fields.get("available_at")
    if available is not None and available.name is None:
        problems.append(Problem(f"{key}.columns.available_at", "cannot be written, so no backoff can be given"))
    return [*problems, *error_problems(table)]


def error_problems(table: JobTable) -> list[Problem]:
    """What keeps the mapped `error` from taking a note, of which reaping and retrying leave one."""
    error = table.fields.get("error")
    if error is None or error.name is None or takes_notes(error):
        return []
    what = f"column {error.name!r} is {error.type_name}, which cannot take the note that is appended to it"
    hint = 'map a text, json or jsonb column or an array of them; { sql = "..." } is only read'
    return [Problem(f"job_tables.{table.name}.columns.error", what, hint)]


def moving_problems(table: JobTable) -> list[Problem]:
    """What moving a job to the dead-letter table would do to other jobs, and to other tables unasked.

    The mapping is right, so the table can be looked at and led; as long as there is one problem it is not reaped.
    """
    letters = table.dead_letters
    if letters is None:
        return []
    key = f"job_tables.{table.name}.reaper.dead_letter_table"
    problems = []
    jobs = [str(one) for one in letters.cascades if one.deletes_its_like]
    if jobs:
        what = f"a job that is moved away would delete others, dead or not: {'; '.join(jobs)}"
        problems.append(
            Problem(key, what, "leave the key out to keep dead jobs in the job table, or drop the constraint")
        )
    others = [str(one) for one in letters.cascades if not one.deletes_its_like]
    if others and not table.policies[0].reaper.dead_letter_cascade:
        what = f"a job that is moved away would change other tables with it: {'; '.join(others)}"
        problems.append(
            Problem(key, what, "set reaper.dead_letter_cascade = true where they may, or leave the key out")
        )
    return problems
