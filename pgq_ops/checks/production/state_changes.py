"""What statements that change the state of single jobs do: mark a claim, or complete a job."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

from pgq_ops.stats import statement_text
from pgq_ops.stats.assignments import assigned, is_given, is_nothing

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.statement_text import Change
    from pgq_ops.stats.table_statements import Statement, TableStatements

_HELD_BY = ("lease_expires_at", "heartbeat_at", "leased_at", "owner")
# What is written when a run is over, well or badly.
_OVER = ("finished_at", "available_at", "error")


class Does(StrEnum):
    """`untold`: the state that it sets is a parameter, and nothing else that it sets tells."""

    COMPLETES = "completes"
    MARKS = "marks"
    UNTOLD = "untold"


@dataclass(frozen=True, slots=True)
class StateChange:
    """One such statement, what it does, its condition and the expression that gives the state; both as plain text."""

    statement: Statement
    does: Does
    where: str
    state: str = ""


def state_changes(seen: TableStatements, table: JobTable) -> Iterator[StateChange]:
    """The statements that change the state of jobs whose ids the client gives, or delete them."""
    state, ids = state_column(table), id_columns(table)
    for one in seen.statements:
        if statement_text.is_claim(one.text):
            continue
        for change in statement_text.changes(one.text, table.relation):
            writes = change.deletes or (state is not None and statement_text.mentions(change.sets, state))
            if writes and any(statement_text.addresses(change.where, name) for name in ids):
                given = None if state is None else assigned(change.sets, state)
                yield StateChange(one, _does(change, table), change.where, given or "")


def id_columns(table: JobTable) -> list[str]:
    """The columns by which a client names a job."""
    mapped = table.fields.get("id")
    own = [mapped.name] if mapped is not None and mapped.name is not None else []
    return own or [part.name for part in table.key if part.name != "tableoid"][:1]


def state_column(table: JobTable) -> str | None:
    """The plain column that holds the state."""
    mapped = table.fields.get("state")
    return None if mapped is None else mapped.name


def _does(change: Change, table: JobTable) -> Does:
    if change.deletes:
        return Does.COMPLETES
    written = {
        field: value
        for field, column in table.fields.items()
        if column.name is not None and (value := assigned(change.sets, column.name)) is not None
    }
    held = [written[field] for field in _HELD_BY if field in written]
    counts = "attempts" in written and not is_given(written["attempts"]) and not is_nothing(written["attempts"])
    at_claim = all(policy.reaper.attempts_counted_at == "claim" for policy in table.policies)
    if any(not is_given(value) and not is_nothing(value) for value in held):
        return Does.MARKS
    if counts and at_claim and not any(field in written for field in _OVER):
        return Does.MARKS
    if "finished_at" in written or (counts and at_claim) or any(map(is_nothing, held)):
        return Does.COMPLETES
    return Does.UNTOLD
