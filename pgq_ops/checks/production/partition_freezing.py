"""Partitions that nobody writes to any more are frozen before autovacuum must do it all at once."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.naming import listed, quoted
from pgq_ops.checks.production.verdict import found, not_applicable, passed, unknown
from pgq_ops.checks.wording import counted
from pgq_ops.stats import tree_tables

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.stats.table_health import LeafHealth

ID = "partitions-not-frozen"
TITLE = "Old partitions are frozen"

# At the whole of it an autovacuum begins that no lock cancels (PostgreSQL: autovacuum_freeze_max_age), for all
# partitions of an age together.
_SHARE = 0.5


def check(examination: Examination) -> Verdict:
    """A warning at half of the age at which autovacuum is forced."""
    ended = {one.relation.oid for one in examination.fact(tree_tables.read) if one.leaf and one.past}
    if not ended:
        return not_applicable("no partition of it has a time range that is over")
    if examination.look.health is None:
        return unknown(f"the ages of the partitions could not be read{examination.why_not('relation')}")
    over = [leaf for leaf in examination.look.health.leaves if leaf.oid in ended]
    old = [leaf for leaf in over if _share(leaf) > _SHARE]
    if not over:
        return unknown("the partitions have changed meanwhile")
    oldest = max(over, key=_share)
    age = f"{oldest.xid_age:,} transactions of the {oldest.settings.freeze_max_age:,} at which autovacuum is forced"
    if not old:
        return passed(f"{counted(len(over), 'partition')} over, the oldest at {age}")
    return found(
        Finding(
            ID,
            Severity.WARNING,
            f"{counted(len(old), 'partition')} whose time is over, {listed(str(leaf.relation) for leaf in old)}, not"
            f" frozen: the oldest is at {age}, which then reads all of them at once and yields to nobody",
            {"xid_ages": {str(leaf.relation): leaf.xid_age for leaf in old}},
            "-- one after another, in a quiet hour; each is frozen for good then\n"
            + "\n".join(f"VACUUM (FREEZE) {quoted(leaf.schema, leaf.name)};" for leaf in old),
        )
    )


def _share(leaf: LeafHealth) -> float:
    return leaf.xid_age / leaf.settings.freeze_max_age
