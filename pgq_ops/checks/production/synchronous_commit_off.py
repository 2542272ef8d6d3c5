"""A commit is on disk before the worker, or the producer, is told of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.role_judgement import UNSEEN, RoleJudgement, alter_roles, judge_roles, named, shown
from pgq_ops.checks.production.verdict import found, passed

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.stats.worker_roles import WorkerRole

ID = "synchronous-commit-off"
TITLE = "A commit is on disk before it is reported"

_SETTING = "synchronous_commit"


def check(examination: Examination) -> Verdict:
    """A warning where a role's commits are reported before they are flushed."""
    judgement = judge_roles(examination, _is_off)
    if not isinstance(judgement, RoleJudgement):
        return judgement
    if not judgement.bad:
        values = sorted({str(role.settings[_SETTING].value) for role in judgement.judged})
        return passed(f"{judgement.names}: {_SETTING} is {' or '.join(values)}{UNSEEN}")
    return found(
        Finding(
            ID,
            Severity.WARNING,
            f"{_SETTING} is off for {named(judgement.bad)}: a crash forgets the last fraction of a second: jobs"
            " reported as enqueued and completions, whose jobs then run again",
            {"roles": {role.name: shown(role, _SETTING) for role in judgement.bad}},
            alter_roles(examination, judgement.bad, f"{_SETTING} = on"),
        )
    )


def _is_off(role: WorkerRole) -> bool | None:
    value = role.settings[_SETTING].value
    return None if value is None else value.lower() in ("off", "false", "no", "0")
