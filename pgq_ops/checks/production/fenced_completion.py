"""A worker that was given up must not be able to complete a job that is somebody else's by now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.naming import quoted
from pgq_ops.checks.production.seen_statements import LEAST_SHARE, claims, in_one_line, not_seen
from pgq_ops.checks.production.state_changes import Does, id_columns, state_changes, state_column
from pgq_ops.checks.production.verdict import found, passed, unknown
from pgq_ops.checks.wording import counted
from pgq_ops.stats import statement_text, table_statements

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.state_changes import StateChange
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.table_statements import Statement, TableStatements

ID = "completion-not-fenced"
TITLE = "A job is completed only under its own claim"

# Each of these is another one once the job was claimed again.
_FENCES = ("version", "owner", "lease_expires_at", "heartbeat_at", "leased_at", "attempts")


def check(examination: Examination) -> Verdict:
    """A warning where jobs are completed by id alone, as far as the statements' texts tell."""
    seen, table = examination.fact(table_statements.read), examination.table
    if not id_columns(table) or state_column(table) is None:
        return unknown("no plain column is mapped as id and state, by which a completion could be told")
    changes = list(state_changes(seen, table))
    ends = [one for one in changes if one.does is not Does.MARKS]
    calls = sum(one.statement.calls for one in ends)
    if seen.why_not or not calls:
        return not_seen(seen, "completion", table)
    unfenced = [
        one for one in ends if not _mentions_fence(one.where, table) and one.statement.calls >= LEAST_SHARE * calls
    ]
    if not unfenced:
        return passed(f"{counted(calls, 'completion')} seen")
    open_ones = [one for one in unfenced if not _mentions_fence(one.state, table)]
    if not open_ones:
        return unknown(
            "whether completions are fenced by what they set the state to is not told by their texts:"
            f" {in_one_line(unfenced[0].statement)}"
        )
    if not _marks_are_known(seen, table, changes):
        untold = [one.statement for one in open_ones if one.does is Does.UNTOLD]
        open_ones = [one for one in open_ones if one.does is not Does.UNTOLD]
        if not open_ones:
            return unknown(
                "whether a statement marks a claim or completes a job is not told where the state is a parameter:"
                f" {in_one_line(untold[0])}"
            )
    return found(_finding(table, [one.statement for one in open_ones]))


def _finding(table: JobTable, open_ones: list[Statement]) -> Finding:
    fence = table.fields["version"].name if "version" in table.fields else None
    by = f"AND {quoted(fence)} = <the claim's>" if fence else "AND <the owner or the version of the claim>"
    return Finding(
        ID,
        Severity.WARNING,
        f"{counted(sum(one.calls for one in open_ones), 'time')} a job of {table} was completed by its id alone: a"
        " worker whose lease is over overwrites what its successor does",
        {"statements": [in_one_line(one) for one in open_ones]},
        "\n".join(f"-- in the workers, to be ended by {by}:\n-- {in_one_line(one)}" for one in open_ones),
    )


def _mentions_fence(text: str, table: JobTable) -> bool:
    names = (table.fields[field].name for field in _FENCES if field in table.fields)
    return any(name is not None and statement_text.mentions(text, name) for name in names)


def _marks_are_known(seen: TableStatements, table: JobTable, changes: list[StateChange]) -> bool:
    """Whether it is known what marks the claims, so that all else completes: one of these, or the claims themselves."""
    taken = claims(seen, table)
    by_themselves = bool(taken) and not any(statement_text.only_selects(one.text) for one in taken)
    return by_themselves or any(one.does is Does.MARKS for one in changes)
