"""A claim that first selects and then marks holds a transaction open in between."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg import sql as composing

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.pasted_sql import plain
from pgq_ops.checks.production.seen_statements import FEWEST_CALLS, LEAST_SHARE, claims, in_one_line, not_seen
from pgq_ops.checks.production.verdict import found, passed, unknown
from pgq_ops.checks.wording import counted
from pgq_ops.job_table.quoting import identifier
from pgq_ops.stats import statement_text, table_statements

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.job_table.table import JobTable

ID = "claim-in-two-statements"
TITLE = "One statement selects and marks a job"

_SHAPE = composing.SQL(
    "UPDATE {table} SET ... WHERE ({key}) IN (SELECT {key} FROM {table} WHERE ... ORDER BY ..."
    " FOR NO KEY UPDATE SKIP LOCKED LIMIT 1) RETURNING ...;"
)


def check(examination: Examination) -> Verdict:
    """A warning where a client sends a SELECT with SKIP LOCKED alone; what a function does inside is one statement."""
    seen = examination.fact(table_statements.read)
    taken = claims(seen, examination.table)
    if seen.why_not or not taken:
        return not_seen(seen, "claim", examination.table)
    calls = sum(one.calls for one in taken)
    alone = [
        one
        for one in taken
        if one.toplevel and statement_text.only_selects(one.text) and one.calls >= LEAST_SHARE * calls
    ]
    if alone and calls < FEWEST_CALLS:
        return unknown(f"{counted(calls, 'claim')} seen may be a person's: {FEWEST_CALLS} would tell")
    if alone:
        return found(
            Finding(
                ID,
                Severity.WARNING,
                f"workers select jobs of {examination.table} in one statement and mark them in another"
                f" ({counted(sum(one.calls for one in alone), 'call')}): a transaction stays open between the two",
                {"statements": [in_one_line(one) for one in alone]},
                _one_statement(examination.table),
            )
        )
    if not any(one.toplevel for one in taken):
        return unknown("only claims inside functions were seen")
    return passed(f"{counted(calls, 'claim')} seen, by {counted(len(taken), 'statement')}")


def _one_statement(table: JobTable) -> str:
    """The claim's shape, not to be run: what it sets, and which jobs are due, the workers know."""
    key = composing.SQL(", ").join(identifier(part.name) for part in table.key) if table.key else composing.SQL("ctid")
    return "-- " + plain(_SHAPE.format(table=table.relation.sql, key=key))
