"""Judges a setting of the workers' roles: which of them have a bad one, and of which it is not known."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops.checks.production.naming import listed, quoted
from pgq_ops.checks.production.verdict import unknown
from pgq_ops.checks.wording import counted
from pgq_ops.stats import worker_roles

if TYPE_CHECKING:
    from collections.abc import Callable

    from pgq_ops.checks.production.examination import Examination
    from pgq_ops.checks.production.verdict import Verdict
    from pgq_ops.stats.worker_roles import WorkerRole


# What ends a passed point: the settings that sessions begin with are all that others see of them.
UNSEEN = "; what a session sets for itself is not seen"


@dataclass(frozen=True, slots=True)
class RoleJudgement:
    """The roles that can work the table, by what was found of each."""

    judged: tuple[WorkerRole, ...]
    bad: tuple[WorkerRole, ...]
    untold: tuple[WorkerRole, ...]

    @property
    def names(self) -> str:
        """Whom it is about: `role app` or `2 roles that can work the table (app and other)`."""
        return named(self.judged)


def named(roles: tuple[WorkerRole, ...]) -> str:
    """The roles in a sentence."""
    if len(roles) == 1:
        return f"role {roles[0].name}"
    return f"{counted(len(roles), 'role')} ({listed(role.name for role in roles)})"


def judge_roles(
    examination: Examination, is_bad: Callable[[WorkerRole], bool | None], *, steadily: bool = False
) -> RoleJudgement | Verdict:
    """Ask of each role whether it is bad (None: not known); a verdict where there is nobody to be sure of.

    `steadily`: superusers, who count while they are connected, only where there is no other role.
    """
    roles = examination.fact(worker_roles.read)
    if steadily:
        roles = tuple(role for role in roles if not role.superuser) or roles
    if not roles:
        return unknown(
            f"no role is known that could log in and update {examination.table}: superusers count while they are"
            " connected"
        )
    answers = [(role, is_bad(role)) for role in roles]
    judgement = RoleJudgement(
        roles,
        tuple(role for role, bad in answers if bad),
        tuple(role for role, bad in answers if bad is None),
    )
    if judgement.untold and not judgement.bad:
        return unknown(
            f"the server's own value does not show to a role that has a value of its own, and {named(judgement.untold)}"
            " goes by it"
        )
    return judgement


def alter_roles(examination: Examination, roles: tuple[WorkerRole, ...], *settings: str) -> str:
    """The statements that set `name = value` for the roles in this database; they hold for new sessions."""
    database = quoted(examination.connection.info.dbname)
    return "\n".join(
        f"ALTER ROLE {quoted(role.name)} IN DATABASE {database} SET {setting};"
        for role in roles
        for setting in settings
    )


def shown(role: WorkerRole, setting: str) -> str:
    """The value and where it comes from."""
    found = role.settings.get(setting)
    if found is None or found.value is None:
        return "not known"
    bare = found.value.replace(".", "", 1).isdecimal() and found.value != "0"
    return f"{found.value}{found.unit if bare else ''} ({found.source})"
