"""The server's release is maintained, and free of defects that hurt queues."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.known_bugs import KNOWN_BUGS, SUPPORT_ENDS
from pgq_ops.checks.production.verdict import found, passed
from pgq_ops.stats import server_state

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.stats.server_state import ServerState

ID = "server-version"
TITLE = "The server's release is maintained and has no known defect that hurts queues"


def check(examination: Examination) -> Verdict:
    """A warning."""
    state = examination.fact(server_state.read)
    bugs = [
        bug
        for bug in KNOWN_BUGS
        if bug.is_in(state.major, state.minor) and (examination.table.partitioned or not bug.partitioned_only)
    ]
    end = SUPPORT_ENDS.get(state.major)
    ended = end is not None and state.today > end
    if not bugs and not ended:
        until = f"maintained until {end}" if end is not None else "newer than this version of pgq-ops was tried with"
        return passed(f"PostgreSQL {state.version}, {until}")
    reasons = [f"gets no more fixes since {end}"] if ended else []
    if bugs:
        reasons.append("has known defects: " + "; ".join(bug.what for bug in bugs))
    return found(
        Finding(
            ID,
            Severity.WARNING,
            f"PostgreSQL {state.version} {' and '.join(reasons)}",
            {"version": state.version, "support_ended": ended, "bugs": [bug.what for bug in bugs]},
            _remedy(state, ended=ended),
        )
    )


def _remedy(state: ServerState, *, ended: bool) -> str:
    mended = max((bug.mended.get(state.major, 0) for bug in KNOWN_BUGS), default=0)
    if ended:
        return "# plan the upgrade to a later major release: https://www.postgresql.org/support/versioning/"
    return f"# install the latest minor release, {state.major}.{mended} at least, and restart: no dump is needed"
