"""A role that does not see what other sessions do."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.pasted_sql import plain
from pgq_ops.job_table.quoting import identifier

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.checks.look import Look

(VISIBILITY_LIMITED,) = IDS = ("visibility-limited",)
NEEDS = ("horizon",)


def check(look: Look) -> Iterator[Finding]:
    """Warning: what goes wrong there goes unnoticed, or without a name."""
    horizon = look.database.horizon
    if horizon is None or horizon.visible:
        return
    yield Finding(
        VISIBILITY_LIMITED,
        Severity.WARNING,
        f"role {horizon.role} does not see other sessions' states and times: long and idle transactions, and who blocks"
        " whom, go unnoticed; who keeps VACUUM from dead rows is known by process id alone",
        {"role": horizon.role},
        f"GRANT pg_monitor TO {plain(identifier(horizon.role))};",
    )
