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
TITLE = "Poison jobs can be buried"


def check(examination: Examination) -> Verdict:
    """Only info: there is a dead state at least to read, and the workers may write it themselves."""
    table = examination.table
    if table.dead_letters is not None:
        return passed(f"in {table.dead_letters.relation}")
    dead = table.states.get("dead")
    if dead is not None and dead.writes:
        return passed("as a state of their own")
    return found(
        Finding(
            ID,
            Severity.INFO,
            f"the dead state of {table} can be read and not written, so a job that kills its workers is never buried"
            " unless they do it",
            {"mapped": sorted(table.states)},
            f"# how a row is brought into that state, in pgq-ops.toml:\n{column_section(table, 'states')}\n"
            'dead = { where = "...", set = { column = "expression" } }\n'
            f"# or a table that takes such jobs:\n{column_section(table, 'reaper')}\n"
            'dead_letter_table = "public.dead_jobs"',
        )
    )
