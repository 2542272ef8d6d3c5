"""Changes of a published job table can be carried to its subscribers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.naming import listed, quoted
from pgq_ops.checks.production.verdict import found, not_applicable, passed
from pgq_ops.stats import publications, tree_tables

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "no-replica-identity"
TITLE = "Published changes can be replicated"

_FULL = "f"


def check(examination: Examination) -> Verdict:
    """Critical: PostgreSQL refuses every UPDATE of such a table (55000), so no job can be claimed."""
    published = examination.fact(publications.read)
    leaves = [one for one in examination.fact(tree_tables.read) if one.leaf and one.relation.oid in published]
    if not leaves:
        return not_applicable("no publication carries changes of it")
    names = sorted({name for one in leaves for name in published[one.relation.oid]})
    without = [one for one in leaves if one.replica_identity != _FULL and not one.has_identity_index]
    if not without:
        return passed(f"published by {listed(names)}, each table with a replica identity")
    return found(
        Finding(
            ID,
            Severity.CRITICAL,
            f"{listed(str(one.relation) for one in without)} {'is' if len(without) == 1 else 'are'} published by"
            f" {listed(names)} without a replica identity: every claim and completion fails",
            {"tables": [str(one.relation) for one in without], "publications": names},
            "-- or a primary key, which costs less\n"
            + "\n".join(
                f"ALTER TABLE {quoted(one.relation.schema, one.relation.name)} REPLICA IDENTITY FULL;"
                for one in without
            ),
        )
    )
