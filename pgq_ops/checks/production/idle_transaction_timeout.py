"""A worker that stops in the middle of a transaction is ended before it does harm."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.role_judgement import UNSEEN, RoleJudgement, alter_roles, judge_roles, named, shown
from pgq_ops.checks.production.verdict import found, passed
from pgq_ops.units import format_duration

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.stats.worker_roles import WorkerRole

ID = "idle-transaction-timeout"
TITLE = "A transaction that a worker leaves open is ended"

_SETTING, _WHOLE = "idle_in_transaction_session_timeout", "transaction_timeout"
# In an hour of churn behind a held snapshot a claim comes to read thousands of times what it needs
# (performance.md, Bloat).
_LONGEST_SECONDS = 3600.0


def check(examination: Examination) -> Verdict:
    """A warning: it needs one worker that hangs."""
    judgement = judge_roles(examination, _is_unbounded)
    if not isinstance(judgement, RoleJudgement):
        return judgement
    if not judgement.bad:
        longest = max(_bound(role) or 0.0 for role in judgement.judged)
        return passed(
            f"{judgement.names}: an idle transaction is ended after {format_duration(longest)} at most{UNSEEN}"
        )
    remedy = alter_roles(examination, judgement.bad, f"{_SETTING} = '1min'")
    return found(
        Finding(
            ID,
            Severity.WARNING,
            f"a transaction that a session of {named(judgement.bad)} leaves open stays open for"
            f" {_how_long(judgement.bad)}: its row locks stay, and VACUUM removes nothing that died since",
            {"roles": {role.name: shown(role, _SETTING) for role in judgement.bad}},
            f"-- for new sessions; longer than any worker is idle between two statements of a transaction:\n{remedy}",
        )
    )


def _bound(role: WorkerRole) -> float | None:
    """Seconds after which an idle transaction is ended at the latest; 0 for never, None where it is not known."""
    values = [role.settings[name].seconds for name in (_SETTING, _WHOLE) if name in role.settings]
    limits = [value for value in values if value]
    if limits:
        return min(limits)
    return None if None in values else 0.0


def _is_unbounded(role: WorkerRole) -> bool | None:
    bound = _bound(role)
    return None if bound is None else not 0 < bound <= _LONGEST_SECONDS


def _how_long(roles: tuple[WorkerRole, ...]) -> str:
    bounds = [_bound(role) or 0.0 for role in roles]
    return "ever" if 0.0 in bounds else f"up to {format_duration(max(bounds))}"
