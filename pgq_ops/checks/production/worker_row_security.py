"""Row-level security does not hide the jobs from their workers."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.naming import quoted
from pgq_ops.checks.production.role_judgement import RoleJudgement, judge_roles, named
from pgq_ops.checks.production.verdict import found, passed

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.stats.worker_roles import WorkerRole

ID = "worker-row-security"
TITLE = "Row-level security hides no jobs from workers"

_EVERY, _SELECT, _UPDATE = "*", "r", "w"


def check(examination: Examination) -> Verdict:
    """A warning: a role without a policy sees an empty queue, and no error."""
    judgement = judge_roles(examination, _is_blind)
    if not isinstance(judgement, RoleJudgement):
        return judgement
    if not judgement.bad:
        bound = [role for role in judgement.judged if not role.sees_all_rows]
        return passed(
            f"{judgement.names}: {'with policies to read and to update' if bound else 'no row-level security applies'}"
        )
    relation = examination.table.relation
    table = quoted(relation.schema, relation.name)
    return found(
        Finding(
            ID,
            Severity.WARNING,
            f"row-level security is on, and no policy lets {named(judgement.bad)} read and update jobs of"
            f" {examination.table}: such a worker finds an empty queue, and no error",
            {"roles": [role.name for role in judgement.bad]},
            "-- or a narrower condition than true\n"
            + "\n".join(
                f"CREATE POLICY {quoted(f'{role.name}_works')} ON {table} TO {quoted(role.name)} USING (true);"
                for role in judgement.bad
            ),
        )
    )


def _is_blind(role: WorkerRole) -> bool:
    return not role.sees_all_rows and _EVERY not in role.policies and not {_SELECT, _UPDATE} <= role.policies
