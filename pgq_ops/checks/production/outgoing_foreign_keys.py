"""Deleting what jobs refer to does not read the whole job table, and takes no job away."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.pasted_sql import plain
from pgq_ops.checks.production.incoming_foreign_keys import index_statement
from pgq_ops.checks.production.naming import listed
from pgq_ops.checks.production.verdict import found, not_applicable, passed
from pgq_ops.checks.wording import counted
from pgq_ops.job_table.quoting import literal
from pgq_ops.stats import foreign_keys

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "outgoing-foreign-keys"
TITLE = "Foreign keys of the jobs do no harm"

# Read in tens of milliseconds: performance.md has 57 to 76 ms for a million rows.
_SMALL_ROWS = 100_000


def check(examination: Examination) -> Verdict:
    """Info; a warning where a large job table would be read, row by row locked, for one DELETE elsewhere."""
    keys = [key for key in examination.fact(foreign_keys.read) if not key.incoming]
    if not keys:
        return not_applicable("the jobs refer to no other table")
    slow = [key for key in keys if not key.indexed]
    taking = [key for key in keys if key.on_delete == "CASCADE"]
    to = listed(".".join(key.referenced) for key in slow or taking or keys)
    if slow:
        largest = max(key.rows for key in slow)
        return found(
            Finding(
                ID,
                Severity.INFO if largest < _SMALL_ROWS else Severity.WARNING,
                f"a DELETE in {to} reads all {largest:,} jobs: no index leads to those that refer to the row by"
                f" {listed(key.name for key in slow)}",
                {"constraints": {key.name: ".".join(key.referenced) for key in slow}, "rows": largest},
                "-- on a partitioned table leaf by leaf; it costs each enqueued job an entry\n"
                + "\n".join(index_statement(key) for key in slow),
            )
        )
    if taking:
        return found(
            Finding(
                ID,
                Severity.INFO,
                f"a DELETE in {to} deletes its jobs too ({listed(key.name for key in taking)}), those that run"
                " included: their workers then find no row to complete",
                {"constraints": {key.name: ".".join(key.referenced) for key in taking}},
                "SELECT conname, conrelid::regclass, pg_get_constraintdef(oid) FROM pg_constraint"  # noqa: S608  # text for a person; quoted below
                f" WHERE conname IN ({', '.join(plain(literal(key.name)) for key in taking)});",
            )
        )
    return passed(
        f"{counted(len(keys), 'foreign key')} to {to}, indexed; each enqueue locks the row it refers to, briefly"
    )
