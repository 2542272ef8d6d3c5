"""At Repeatable Read or Serializable a claim fails with 40001 where it should step over a row that another one took."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.checks.finding import Finding, Severity
from pgq_ops.checks.production.naming import listed
from pgq_ops.checks.production.role_judgement import RoleJudgement, alter_roles, judge_roles, named, shown
from pgq_ops.checks.production.seen_statements import claims, in_one_line
from pgq_ops.checks.production.verdict import found, passed, unknown
from pgq_ops.checks.wording import counted
from pgq_ops.stats import isolation_statements, table_statements

if TYPE_CHECKING:
    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.stats.isolation_statements import LevelStatement
    from pgq_ops.stats.worker_roles import WorkerRole

ID = "worker-isolation"
TITLE = "Workers run at Read Committed"

_SETTING = "default_transaction_isolation"
# Read Uncommitted is Read Committed in PostgreSQL.
_FIT = ("read committed", "read uncommitted")
_TRACK = "ALTER SYSTEM SET pg_stat_statements.track_utility = on;\nSELECT pg_reload_conf();"
# What is rarer than this share of the claims is not around them: a report, a dump.
_LEAST_SHARE = 0.1
_MOST_SHOWN = 10


def check(examination: Examination) -> Verdict:
    """A warning for roles whose sessions begin otherwise, and for transactions that ask for more themselves."""
    judgement = judge_roles(examination, _is_too_strict)
    if not isinstance(judgement, RoleJudgement):
        return judgement
    if not judgement.bad:
        return _by_statements(examination, judgement)
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


def _by_statements(examination: Examination, judgement: RoleJudgement) -> Verdict:
    """What the roles' own statements ask for; the driver of a worker asks in each transaction."""
    begin = f"so begin the sessions of {judgement.names}"
    seen = examination.fact(table_statements.read)
    if seen.why_not:
        return unknown(seen.why_not, seen.remedy)
    levels = examination.fact(isolation_statements.read)
    if not levels.counted:
        return unknown(f"{begin}; what transactions ask for is not counted (track_utility)", _TRACK)
    names = {role.name for role in judgement.judged}
    asked = [one for one in levels.statements if one.role in names]
    claimed = sum(one.calls for one in claims(seen, examination.table) if one.role in names)
    strict = [one for one in asked if one.strict]
    times = sum(one.calls for one in strict)
    if strict and times >= _LEAST_SHARE * claimed:
        return found(_finding(examination, strict))
    if len(asked) > len(strict):
        untold = next(one for one in asked if not one.strict)
        return unknown(f"{begin}; role {untold.role} sets a level that the text does not tell: {in_one_line(untold)}")
    if strict:
        return passed(f"{begin}; {counted(times, 'transaction')} asked for more, of {counted(claimed, 'claim')} seen")
    return passed(f"{begin}, and no statement of theirs that was counted asks for more")


def _finding(examination: Examination, strict: list[LevelStatement]) -> Finding:
    roles = dict.fromkeys(one.role for one in strict)
    return Finding(
        ID,
        Severity.WARNING,
        f"{counted(sum(one.calls for one in strict), 'time')} {listed(roles)} asked for an isolation level at which a"
        f" claim on {examination.table} raises 40001 instead of stepping over a job that is taken",
        {"statements": {in_one_line(one): one.calls for one in strict[:_MOST_SHOWN]}, "asked_by": list(roles)},
        "\n".join(
            f"-- in the workers, around a claim without the level (READ COMMITTED is enough):\n-- {in_one_line(one)}"
            for one in strict[:_MOST_SHOWN]
        ),
    )


def _is_too_strict(role: WorkerRole) -> bool | None:
    value = role.settings[_SETTING].value
    return None if value is None else value.strip("'\"").lower() not in _FIT
