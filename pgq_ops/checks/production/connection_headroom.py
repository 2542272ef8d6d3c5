"""There is room for more connections."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.verdict import found, passed
from pgq_ops.stats import server_state

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "connection-headroom"
TITLE = "There is room for more connections"

# The next deployment starts its workers before it stops the old ones; a tenth is little for that already.
_SHARE = 0.9


def check(examination: Examination) -> Verdict:
    """A warning when few are left for those who are no superusers."""
    state = examination.fact(server_state.read)
    seen = f"{state.connections} of {state.connections_allowed} connections are taken"
    if state.connections < state.connections_allowed * _SHARE:
        return passed(seen)
    return found(
        Finding(
            ID,
            Severity.WARNING,
            f"{seen}: workers that start, or come back after a failover, may find no room, pgq-ops too",
            {"connections": state.connections, "allowed": state.connections_allowed},
            "SELECT datname, usename, application_name, state, count(*) FROM pg_stat_activity"
            " GROUP BY 1, 2, 3, 4 ORDER BY 5 DESC;",
        )
    )
