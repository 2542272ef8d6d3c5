"""Without a place for jobs that fail for ever, they are retried for ever."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.mapping_advice import column_section
from pgq_ops.checks.production.verdict import found, passed

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "no-dead-state"
TITLE = "poison jobs can be buried"


def check(examination: Examination) -> Verdict:
    """A warning where neither a dead state nor a dead-letter table is configured."""
    table = examination.table
    if table.dead_letters is not None:
        return passed(f"in {table.dead_letters.relation}")
    if "dead" in table.states:
        return passed("as a state of their own")
    return found(
        Finding(
            ID,
            Severity.WARNING,
            f"no state of {table} is mapped as dead, and no dead-letter table: a job that always fails never ends",
            {"mapped": sorted(table.states)},
            f"# a value that the state column can hold, in pgq-ops.toml:\n{column_section(table, 'states')}\n"
            f'dead = ["dead"]\n# or a table that takes them:\n{column_section(table, "reaper")}\n'
            'dead_letter_table = "public.dead_jobs"',
        )
    )
