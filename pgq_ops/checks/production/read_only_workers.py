"""The workers' transactions may write."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.role_judgement import UNSEEN, RoleJudgement, alter_roles, judge_roles, named, shown
from pgq_ops.checks.production.verdict import found, passed
from pgq_ops.stats import server_state

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.stats.worker_roles import WorkerRole

ID = "read-only-workers"
TITLE = "Workers can write here"

_SETTING = "default_transaction_read_only"


def check(examination: Examination) -> Verdict:
    """A warning on a standby, and where a role's transactions are read-only unless it says otherwise."""
    if examination.fact(server_state.read).in_recovery:
        return found(
            Finding(
                ID,
                Severity.WARNING,
                "this server is a standby: no job can be claimed here, and what is seen may be late",
                {"in_recovery": True},
                "# let database.dsn lead to the primary, for instance with\ntarget_session_attrs=read-write",
            )
        )
    judgement = judge_roles(examination, _is_read_only)
    if not isinstance(judgement, RoleJudgement):
        return judgement
    if not judgement.bad:
        return passed(f"{judgement.names}: the server is a primary, and {_SETTING} is off{UNSEEN}")
    return found(
        Finding(
            ID,
            Severity.WARNING,
            f"transactions of {named(judgement.bad)} are read-only by default: a claim fails unless the worker says"
            " READ WRITE each time",
            {"roles": {role.name: shown(role, _SETTING) for role in judgement.bad}},
            alter_roles(examination, judgement.bad, f"{_SETTING} = off"),
        )
    )


def _is_read_only(role: WorkerRole) -> bool | None:
    value = role.settings[_SETTING].value
    return None if value is None else value.lower() in ("on", "true", "yes", "1")
