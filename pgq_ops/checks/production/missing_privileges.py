"""The role of pgq-ops sees what it must see, and may do what the configuration asks of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.naming import quoted
from pgq_ops.checks.production.verdict import found, passed
from pgq_ops.checks.wording import command
from pgq_ops.stats import role_rights

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.stats.role_rights import RoleRights

ID = "missing-privileges"
TITLE = "pgq-ops may see and do what it is to"


def check(examination: Examination) -> Verdict:
    """A warning where other sessions are hidden from it, or the reaper that is asked for may not write."""
    rights = examination.fact(role_rights.read)
    if not rights.monitors:
        return found(
            Finding(
                ID,
                Severity.WARNING,
                f"role {rights.role} does not see other sessions: who blocks a job or holds back VACUUM stays unknown",
                _evidence(rights),
                f"GRANT pg_monitor TO {quoted(rights.role)};",
            )
        )
    if _is_to_reap(examination) and not rights.reaps:
        return found(
            Finding(
                ID,
                Severity.WARNING,
                f"role {rights.role} is to reap {examination.table} and may not update it",
                _evidence(rights),
                command("pgq-ops", "grants", operands=[rights.role], options=["--tier", "reap", "--sql"]),
            )
        )
    if rights.superuser:
        return passed(f"role {rights.role} is a superuser: it may everything, far more than pgq-ops needs")
    tiers = [name.replace("_", " ") for name, has in _evidence(rights).items() if has is True]
    return passed(f"role {rights.role} sees other sessions; its rights suffice to {', '.join(tiers)}")


def _is_to_reap(examination: Examination) -> bool:
    config = examination.config.job_tables.get(examination.table.name)
    asked = config is not None and "reaper" in config.requested_tasks
    return asked and examination.config.agent.mode == "manage"


def _evidence(rights: RoleRights) -> dict[str, object]:
    return {
        "role": rights.role,
        "observe": True,
        "reap": rights.reaps,
        "purge_dead_letters": rights.purges,
        "vacuum": rights.vacuums,
        "act_as_owner": rights.owns,
    }
