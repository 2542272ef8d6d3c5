"""The job table is written to the log, so that a crash does not empty it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.naming import listed, quoted
from pgq_ops.checks.production.verdict import found, passed
from pgq_ops.checks.wording import counted
from pgq_ops.stats import tree_tables

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "unlogged-job-table"
TITLE = "The job table survives a crash"

_LOGGED = "p"


def check(examination: Examination) -> Verdict:
    """A warning: an unlogged table is empty after a crash, and not on any standby."""
    tables = [one for one in examination.fact(tree_tables.read) if one.leaf]
    lost = [one.relation for one in tables if one.persistence != _LOGGED]
    if not lost:
        return passed(f"logged: {counted(len(tables), 'table')}")
    return found(
        Finding(
            ID,
            Severity.WARNING,
            f"{listed(map(str, lost))} {'is' if len(lost) == 1 else 'are'} unlogged: after a crash of the server, or a"
            " failover, no job of it is left",
            {"tables": [str(one) for one in lost]},
            "-- rewrites the table under an ACCESS EXCLUSIVE lock: workers wait\n"
            + "\n".join(f"ALTER TABLE {quoted(one.schema, one.name)} SET LOGGED;" for one in lost),
        )
    )
