"""Moving a buried job to the dead-letter table deletes or changes rows of other tables."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.pasted_sql import as_regclass

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import Look

DEAD_LETTER_CASCADE = "dead-letter-cascade"
IDS = (DEAD_LETTER_CASCADE,)
NEEDS: tuple[str, ...] = ()


def check(look: Look) -> Iterator[Finding]:
    """A warning until `reaper.dead_letter_cascade` says that they may; then info. Other jobs may never go with one."""
    table, letters = look.table, look.table.dead_letters
    if letters is None or not letters.cascades:
        return
    deletes_jobs = any(one.deletes_its_like for one in letters.cascades)
    allowed = table.policies[0].reaper.dead_letter_cascade and not deletes_jobs
    constraints = [str(one) for one in letters.cascades]
    unless = "" if allowed else ", so the table is not reaped unless reaper.dead_letter_cascade allows it"
    if deletes_jobs:
        unless = ", other jobs among them, so the table is not reaped"
    relation = as_regclass(table.relation)
    yield Finding(
        DEAD_LETTER_CASCADE,
        Severity.INFO if allowed else Severity.WARNING,
        f"moving a dead job from {table} to {letters.relation} changes other tables: {'; '.join(constraints)}{unless}",
        {"constraints": constraints, "allowed": allowed},
        f"SELECT conrelid::regclass, conname, pg_get_constraintdef(oid) FROM pg_constraint"  # noqa: S608  # text for a person; quoted above
        f" WHERE contype = 'f' AND confrelid = {relation} AND confdeltype IN ('c', 'n', 'd');",
    )
