"""Partitions that nobody writes to any more are frozen before autovacuum must do it all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.naming import listed, quoted
from pgq_ops.checks.production.verdict import found, not_applicable, passed
from pgq_ops.checks.wording import counted
from pgq_ops.stats import tree_tables

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "partitions-not-frozen"
TITLE = "Old partitions are frozen"

# At the whole of it an autovacuum begins that no lock cancels (PostgreSQL: autovacuum_freeze_max_age), for all
# partitions of an age together.
_SHARE = 0.5


def check(examination: Examination) -> Verdict:
    """A warning at half of the age at which autovacuum is forced."""
    over = [one for one in examination.fact(tree_tables.read) if one.leaf and one.past]
    if not over:
        return not_applicable("no partition of it has a time range that is over")
    old = [one for one in over if one.xid_age is not None and one.xid_age > one.freeze_max_age * _SHARE]
    oldest = max(over, key=lambda one: (one.xid_age or 0) / one.freeze_max_age)
    age = f"{oldest.xid_age or 0:,} transactions of the {oldest.freeze_max_age:,} at which autovacuum is forced"
    if not old:
        return passed(f"{counted(len(over), 'partition')} over, the oldest at {age}")
    return found(
        Finding(
            ID,
            Severity.WARNING,
            f"{counted(len(old), 'partition')} whose time is over, {listed(str(one.relation) for one in old)}, not"
            f" frozen: the oldest is at {age}, which then reads all of them at once and yields to nobody",
            {"xid_ages": {str(one.relation): one.xid_age for one in old}},
            "-- one after another, in a quiet hour; each is frozen for good then\n"
            + "\n".join(f"VACUUM (FREEZE) {quoted(one.relation.schema, one.relation.name)};" for one in old),
        )
    )
