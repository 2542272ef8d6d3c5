"""Deleting a job does not read whole tables that refer to jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.naming import listed, quoted
from pgq_ops.checks.production.verdict import found, not_applicable, passed
from pgq_ops.checks.wording import counted
from pgq_ops.stats import foreign_keys

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "incoming-foreign-keys"
TITLE = "Foreign keys to the jobs are indexed"

# A table that fits into a few dozen pages is read in well under a millisecond.
_SMALL_ROWS = 10_000


def check(examination: Examination) -> Verdict:
    """A warning where a large table would be read for each deleted job; info while it is small."""
    keys = [key for key in examination.fact(foreign_keys.read) if key.incoming]
    if not keys:
        return not_applicable("no foreign key refers to the jobs")
    slow = [key for key in keys if not key.indexed]
    if not slow:
        return passed(f"{counted(len(keys), 'foreign key')} to the jobs, each with an index")
    largest = max(slow, key=lambda key: key.rows)
    return found(
        Finding(
            ID,
            Severity.INFO if largest.rows < _SMALL_ROWS else Severity.WARNING,
            f"no index leads to what refers to a job by {listed(key.name for key in slow)}: each deleted job reads all"
            f" of {'.'.join(largest.referring)}, {largest.rows:,} rows when they were last counted",
            {"constraints": {key.name: {"table": ".".join(key.referring), "rows": key.rows} for key in slow}},
            "\n".join(index_statement(key) for key in slow),
        )
    )


def index_statement(key: foreign_keys.ForeignKey) -> str:
    """The index that the referring table lacks."""
    columns = ", ".join(quoted(column) for column in key.columns)
    return f"CREATE INDEX CONCURRENTLY ON {quoted(*key.referring)} ({columns});"
