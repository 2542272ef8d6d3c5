"""Whether a bound table has all that a retry of its dead letters needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.binding.reaping import error_problems
from pgq_ops.errors import ConfigError, Problem

if TYPE_CHECKING:
    from pgq_ops.job_table.table import JobTable


def require_mapped(table: JobTable) -> None:
    """Raise ConfigError with all that the mapping lacks."""
    if problems := retrying_problems(table):
        raise ConfigError(tuple(problems))


def retrying_problems(table: JobTable) -> list[Problem]:
    """What keeps dead letters from being retried, one problem each; empty if nothing does."""
    key = f"job_tables.{table.name}"
    problems: list[Problem] = []
    pending = table.states.get("pending")
    if pending is None:
        problems.append(Problem(f"{key}.states.pending", "is needed to retry, and not mapped"))
    elif not pending.writes:
        hint = 'add set = { column = "expression" }' if pending.where else "columns.state must be a plain column"
        problems.append(
            Problem(f"{key}.states.pending", "can be read but not written, so nothing can be retried", hint)
        )
    attempts = table.fields.get("attempts")
    if attempts is not None and attempts.name is None:
        what = "cannot be written, so that a retried job would be buried at its first failure"
        problems.append(Problem(f"{key}.columns.attempts", what, "map a plain column"))
    if attempts is None and not table.key:
        what = "is not mapped, and without a primary key a fresh start cannot be remembered elsewhere"
        problems.append(Problem(f"{key}.columns.attempts", what, "map it, or give the table a primary key"))
    return [*problems, *error_problems(table)]
