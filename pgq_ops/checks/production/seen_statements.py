"""What several points say of the statements that pg_stat_statements has seen."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.production.verdict import unknown
from pgq_ops.db.failures import shortened
from pgq_ops.stats import statement_text

if TYPE_CHECKING:
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.stats.isolation_statements import LevelStatement
    from pgq_ops.stats.table_statements import Statement, TableStatements

_MOST_CHARACTERS = 300
FEWEST_CALLS = 5
"""What was called less often, all together, may be a person who tries something: nothing is found by it."""
LEAST_SHARE = 0.1
"""What is rarer than this share of all such statements is a person's too, or a tool's: cancelling, correcting."""


def claims(seen: TableStatements, table: JobTable) -> list[Statement]:
    """The statements that take jobs of the table."""
    return [
        one
        for one in seen.statements
        if statement_text.is_claim(one.text) and statement_text.mentions(one.text, table.relation.name)
    ]


def not_seen(seen: TableStatements, what: str, table: JobTable) -> Verdict:
    """Why a point that judges statements cannot."""
    if seen.why_not:
        return unknown(seen.why_not, seen.remedy)
    inside = "" if seen.nested else "; those inside functions are only with pg_stat_statements.track = all"
    return unknown(f"no {what} of {table} has been counted since pg_stat_statements began{inside}")


def in_one_line(statement: Statement | LevelStatement) -> str:
    """The text as evidence: without constants, and not all of a long one."""
    return shortened(statement_text.without_values(statement.text), _MOST_CHARACTERS)
