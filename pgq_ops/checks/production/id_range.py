"""The numbers of the jobs do not run out."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.naming import quoted
from pgq_ops.checks.production.verdict import found, not_applicable, passed, unknown
from pgq_ops.stats import id_numbers

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.stats.id_numbers import IdNumbers

ID = "id-range"
TITLE = "Ids do not run out"

# Changing the type rewrites the table under an exclusive lock, or takes weeks of preparation: so early.
_WARNING_SHARE = 0.7
_CRITICAL_SHARE = 0.95


def check(examination: Examination) -> Verdict:
    """A warning at 70 % of what the column or its sequence can count; critical at 95 %: then enqueuing ends."""
    numbers = examination.fact(id_numbers.read)
    if numbers is None:
        return not_applicable("the id is no whole number of a column")
    what = f"{numbers.column} ({numbers.type_name})"
    if numbers.highest is None:
        return unknown(
            f"{what} has no index from whose end its highest value could be read, and its sequence may not be read",
            _grant(examination, numbers),
        )
    share = numbers.highest / numbers.limit
    used = f"{what} has come to {numbers.highest:,}, {share:.1%} of the {numbers.limit:,} that"
    ends = "its sequence" if numbers.limit < numbers.column_limit else "its type"
    if share < _WARNING_SHARE or (numbers.cycles and numbers.limit < numbers.column_limit):
        return passed(f"{used} {ends} can count")
    return found(
        Finding(
            ID,
            Severity.CRITICAL if share >= _CRITICAL_SHARE else Severity.WARNING,
            f"{used} {ends} can count: after that no job can be enqueued",
            {"column": numbers.column, "highest": numbers.highest, "limit": numbers.limit},
            _remedy(examination, numbers),
        )
    )


def _grant(examination: Examination, numbers: IdNumbers) -> str:
    if numbers.sequence is None:
        return ""
    return f"GRANT SELECT ON SEQUENCE {quoted(*numbers.sequence)} TO {quoted(examination.connection.info.user)};"


def _remedy(examination: Examination, numbers: IdNumbers) -> str:
    if numbers.limit < numbers.column_limit and numbers.sequence is not None:
        return f"ALTER SEQUENCE {quoted(*numbers.sequence)} MAXVALUE {numbers.column_limit};"
    relation = examination.table.relation
    sequence = f"ALTER SEQUENCE {quoted(*numbers.sequence)} AS bigint;\n" if numbers.sequence is not None else ""
    return (
        "-- rewrites the table and its indexes under an ACCESS EXCLUSIVE lock: for a large one copy it beforehand\n"
        f"{sequence}ALTER TABLE {quoted(relation.schema, relation.name)} ALTER COLUMN {quoted(numbers.column)} TYPE"
        " bigint;"
    )
