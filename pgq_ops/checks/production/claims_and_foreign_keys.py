"""FOR UPDATE also keeps out the foreign keys of other tables: an insert that refers to the job waits for the claim."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.seen_statements import claims, in_one_line, not_seen
from pgq_ops.checks.production.verdict import found, passed
from pgq_ops.stats import foreign_keys, statement_text, table_statements

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "for-update-keeps-out-foreign-keys"
TITLE = "Claims do not block foreign keys"


def check(examination: Examination) -> Verdict:
    """Only info: the wait is as long as the claim's transaction."""
    table = examination.table
    referring = [one for one in examination.fact(foreign_keys.read) if one.incoming]
    if not referring:
        return passed(f"no table refers to {table}")
    seen = examination.fact(table_statements.read)
    taken = claims(seen, table)
    if seen.why_not or not taken:
        return not_seen(seen, "claim", table)
    strong = [one for one in taken if statement_text.locks_for_update(one.text)]
    if not strong:
        return passed("claims lock FOR NO KEY UPDATE")
    tables = ", ".join(dict.fromkeys(".".join(one.referring) for one in referring))
    return found(
        Finding(
            ID,
            Severity.INFO,
            f"claims on {table} lock FOR UPDATE, so whoever writes a row of {tables} that refers to a job waits for its"
            " claim, and a claim steps over a job that is just being referred to; FOR NO KEY UPDATE does neither",
            {"constraints": [one.name for one in referring], "statements": [in_one_line(one) for one in strong]},
            "-- in the workers, FOR NO KEY UPDATE instead of FOR UPDATE:\n"
            + "\n".join(f"-- {in_one_line(one)}" for one in strong),
        )
    )
