"""What the server has committed outlives a crash of its machine."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.verdict import found, passed
from pgq_ops.stats import server_state

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict

ID = "fsync-off"
TITLE = "Committed jobs outlive a crash of the machine"


def check(examination: Examination) -> Verdict:
    """Critical without fsync; a warning without full_page_writes, which some file systems make needless."""
    state = examination.fact(server_state.read)
    if not state.fsync:
        return found(
            Finding(
                ID,
                Severity.CRITICAL,
                "fsync is off: a crash of the machine can leave the whole database damaged beyond repair",
                {"fsync": False, "full_page_writes": state.full_page_writes},
                "ALTER SYSTEM SET fsync = on;\nSELECT pg_reload_conf();",
            )
        )
    if not state.full_page_writes:
        return found(
            Finding(
                ID,
                Severity.WARNING,
                "full_page_writes is off: a page that a crash tears in half cannot be repaired, unless the file system"
                " writes pages whole",
                {"fsync": True, "full_page_writes": False},
                "ALTER SYSTEM SET full_page_writes = on;\nSELECT pg_reload_conf();",
            )
        )
    return passed("fsync and full_page_writes are on")
