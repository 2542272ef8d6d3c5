"""A worker that was given up must not be able to complete a job that is somebody else's by now."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.naming import quoted
from pgq_ops.checks.production.seen_statements import in_one_line, not_seen
from pgq_ops.checks.production.verdict import found, passed, unknown
from pgq_ops.checks.wording import counted
from pgq_ops.stats import statement_text, table_statements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.table_statements import Statement, TableStatements

ID = "completion-not-fenced"
TITLE = "A job is completed only under its own claim"

# Each of these is another one once the job was claimed again.
_FENCES = ("version", "owner", "lease_expires_at", "heartbeat_at", "leased_at", "attempts")
# What is rarer than this share of such statements is a person's, or a tool's: cancelling, correcting.
_LEAST_SHARE = 0.1


def check(examination: Examination) -> Verdict:
    """A warning where jobs are completed by id alone, as far as the statements' texts tell."""
    seen, table = examination.fact(table_statements.read), examination.table
    names = [name for field in _FENCES if field in table.fields and (name := table.fields[field].name)]
    if not _id_columns(table) or _state_column(table) is None:
        return unknown("no plain column is mapped as id and state, by which a completion could be told")
    completions = list(_completions(seen, table))
    calls = sum(one.calls for one, _ in completions)
    if seen.why_not or not calls:
        return not_seen(seen, "completion", table)
    open_ones = [
        one
        for one, where in completions
        if not any(statement_text.mentions(where, name) for name in names) and one.calls >= _LEAST_SHARE * calls
    ]
    if not open_ones:
        return passed(f"{counted(calls, 'completion')} seen")
    fence = table.fields["version"].name if "version" in table.fields else None
    by = f'AND {quoted(fence)} = <the claim\'s>' if fence else "AND <the owner or the version of the claim>"
    return found(
        Finding(
            ID,
            Severity.WARNING,
            f"{counted(sum(one.calls for one in open_ones), 'time')} a job of {table} was completed by its id alone: a"
            " worker whose lease is over overwrites what its successor does",
            {"statements": [in_one_line(one) for one in open_ones]},
            "\n".join(f"-- in the workers, to be ended by {by}:\n-- {in_one_line(one)}" for one in open_ones),
        )
    )


def _completions(seen: TableStatements, table: JobTable) -> Iterator[tuple[Statement, str]]:
    """The statements that change the state of jobs whose ids the client gives, or delete them; their conditions."""
    state, ids = _state_column(table), _id_columns(table)
    for one in seen.statements:
        if statement_text.is_claim(one.text):
            continue
        for change in statement_text.changes(one.text, table.relation):
            writes = change.deletes or (state is not None and statement_text.mentions(change.sets, state))
            if writes and any(statement_text.addresses(change.where, name) for name in ids):
                yield one, change.where


def _id_columns(table: JobTable) -> list[str]:
    mapped = table.fields.get("id")
    own = [mapped.name] if mapped is not None and mapped.name is not None else []
    return own or [part.name for part in table.key if part.name != "tableoid"][:1]


def _state_column(table: JobTable) -> str | None:
    mapped = table.fields.get("state")
    return None if mapped is None else mapped.name
