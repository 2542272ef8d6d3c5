"""Queries on a standby hold back VACUUM here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.naming import listed, quoted
from pgq_ops.checks.production.verdict import found, passed, unknown
from pgq_ops.checks.wording import counted
from pgq_ops.stats import standbys

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "standby-feedback"
TITLE = "No standby holds back VACUUM"


def check(examination: Examination) -> Verdict:
    """Info: it is chosen for the standby's sake, and harmless while its queries are short."""
    known = examination.fact(standbys.read)
    if known and not known[0].visible:
        return unknown(
            f"{counted(len(known), 'standby connection')}, of which this role may not see more",
            f"GRANT pg_monitor TO {quoted(examination.connection.info.user)};",
        )
    feeding = [standby.name for standby in known if standby.feeds_back]
    if not feeding:
        return passed(f"{counted(len(known), 'standby connection')}, none with hot_standby_feedback")
    return found(
        Finding(
            ID,
            Severity.INFO,
            f"hot_standby_feedback is on for {listed(feeding)}: the longest query there holds back VACUUM here, and"
            " claims get slow for it",
            {"standbys": feeding},
            "-- on the standby: bound its queries, or switch it off where they may be cancelled instead\n"
            "ALTER SYSTEM SET statement_timeout = '5min';\nSELECT pg_reload_conf();",
        )
    )
