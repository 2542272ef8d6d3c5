"""Sessions that are not seen at their work: by this role, or by anybody."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.pasted_sql import plain
from pgq_ops.checks.wording import counted
from pgq_ops.job_table.quoting import identifier

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import Look

(VISIBILITY_LIMITED,) = IDS = ("visibility-limited",)
NEEDS = ("horizon",)

_HIDDEN = "hidden_sessions"
_TRACKING = """\
-- as a superuser; where it is on already, a role, a database or a session has it off:
-- ALTER ROLE .. RESET track_activities, ALTER DATABASE .. RESET track_activities
ALTER SYSTEM SET track_activities = on;
SELECT pg_reload_conf();
SELECT pid, usename, application_name FROM pg_stat_activity WHERE state = 'disabled';"""


def is_of_the_role(finding: Finding) -> bool:
    """Whether it is the one of a role that sees no other sessions."""
    return finding.id == VISIBILITY_LIMITED and _HIDDEN not in finding.evidence


def check(look: Look) -> Iterator[Finding]:
    """Warning: what goes wrong there goes unnoticed, or without a name."""
    horizon = look.database.horizon
    if horizon is None or horizon.all_told:
        return
    if horizon.visible:
        yield Finding(
            VISIBILITY_LIMITED,
            Severity.WARNING,
            f"{counted(horizon.hidden, 'session')} of this database under track_activities = off: whether a transaction"
            " is open there, and since when, is not known",
            {"role": horizon.role, _HIDDEN: horizon.hidden},
            _TRACKING,
        )
        return
    yield Finding(
        VISIBILITY_LIMITED,
        Severity.WARNING,
        f"role {horizon.role} does not see other sessions' states and times: long and idle transactions, and who blocks"
        " whom, go unnoticed; who keeps VACUUM from dead rows is known by process id alone",
        {"role": horizon.role},
        f"GRANT pg_monitor TO {plain(identifier(horizon.role))};",
    )
