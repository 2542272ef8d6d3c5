"""At Repeatable Read or Serializable a claim fails with 40001 where it should step over a row that another one took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.role_judgement import RoleJudgement, alter_roles, judge_roles, named, shown
from pgq_ops.checks.production.verdict import found, passed

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.stats.worker_roles import WorkerRole

ID = "worker-isolation"
TITLE = "Workers run at Read Committed"

_SETTING = "default_transaction_isolation"
# Read Uncommitted is Read Committed in PostgreSQL.
_FIT = ("read committed", "read uncommitted")


def check(examination: Examination) -> Verdict:
    """A warning for roles that begin otherwise; what a worker sets for itself, nobody else sees."""
    judgement = judge_roles(examination, _is_too_strict)
    if not isinstance(judgement, RoleJudgement):
        return judgement
    if not judgement.bad:
        return passed(f"so begin the sessions of {judgement.names}")
    return found(
        Finding(
            ID,
            Severity.WARNING,
            f"sessions of {named(judgement.bad)} begin at an isolation level at which a claim on {examination.table}"
            " raises 40001 instead of stepping over a job that is taken",
            {"roles": {role.name: shown(role, _SETTING) for role in judgement.bad}},
            alter_roles(examination, judgement.bad, f"{_SETTING} = 'read committed'"),
        )
    )


def _is_too_strict(role: WorkerRole) -> bool | None:
    value = role.settings[_SETTING].value
    return None if value is None else value.strip("'\"").lower() not in _FIT
