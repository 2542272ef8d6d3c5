"""The least that a role needs, by tier: as statements to read, to run in psql, or to run here.

Every tier holds `observe`; no tier holds another one.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.db.failures import driver_errors
from pgq_ops.errors import ActionFailed, NotPermitted, UsageError
from pgq_ops.job_table.pasting import in_one_line
from pgq_ops.schema.findings import FINDINGS_SINCE
from pgq_ops.schema.settings import SETTINGS_SINCE
from pgq_ops.schema.table_grants import Grant, TableGrants, quoted
from pgq_ops.schema.tier import Tier
from pgq_ops.schema.versions import installed

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from psycopg.errors import Diagnostic

    from pgq_ops.db.connection import Connection
    from pgq_ops.errors import PgqOpsError
    from pgq_ops.job_table.table import JobTable

# A GRANT by somebody who may grant a part only is no error to PostgreSQL: it warns (aclchk.c,
# ERRCODE_WARNING_PRIVILEGE_NOT_GRANTED) and grants that part.
_NOT_ALL_GRANTED = "01007"


def plan(
    connection: Connection, role: str, tables: Sequence[JobTable], tiers: Collection[Tier], *, payload: bool = False
) -> tuple[Grant, ...]:
    """What the role needs for the tiers, each statement once. Raises UsageError for a role that is not there."""
    with driver_errors("look up what the role needs"):
        found = connection.execute(sql.statement("catalog/role"), {"role": role}).fetchone()
        if found is None:
            raise UsageError(f'there is no role "{role}": make it with CREATE ROLE {quoted(role)} LOGIN;')
        is_superuser, monitors, signals = found
        if is_superuser:
            return (Grant(f"{role} is a superuser, who needs no grants and should not run pgq-ops"),)
        grants = [*_own_schema(connection, role, tiers)]
        for table in tables:
            one = TableGrants(connection, table, role, payload)
            tier_grants = {
                Tier.OBSERVE: one.observe,
                Tier.REAP: one.reap,
                Tier.DEAD: one.dead,
                Tier.VACUUM: one.vacuum,
                Tier.TUNE: one.own,
                Tier.RETIRE: one.own,
            }
            for tier, grants_of in tier_grants.items():
                if tier in tiers or tier is Tier.OBSERVE:
                    grants += grants_of()
        grants += _monitor(role, monitors=monitors)
        if Tier.TRANSACTIONS in tiers and not signals:
            why = "to end sessions of other roles (of superusers never); it may be granted by whom pg_monitor may be"
            grants.append(Grant(why, f"GRANT pg_signal_backend TO {quoted(role)}"))
    once: dict[str, Grant] = {}
    for grant in grants:
        once.setdefault(grant.statement or grant.why, grant)
    return tuple(once.values())


def script(grants: Sequence[Grant]) -> str:
    """The statements for psql or any other tool, each behind a comment with its reason."""
    lines = ["-- Each statement stands alone: run those that this role may grant, and have the others run by who may."]
    for grant in grants:
        lines.append(f"-- {in_one_line(' '.join(grant.why.split()))}")
        lines += [f"{grant.statement};"] if grant.statement else []
    return "\n".join(lines) + "\n"


@dataclass(frozen=True, slots=True)
class Refusal:
    """A statement that was not run, and the error that says why."""

    grant: Grant
    error: NotPermitted


@dataclass(frozen=True, slots=True)
class Outcome:
    """What was granted and what was not."""

    granted: tuple[Grant, ...]
    refused: tuple[Refusal, ...]

    @property
    def error(self) -> PgqOpsError | None:
        """What to end with: ActionFailed where a part was granted, NotPermitted where nothing was."""
        if not self.refused:
            return None
        message = "\n".join(str(refusal.error) for refusal in self.refused)
        return ActionFailed(f"granted in part only: {message}") if self.granted else NotPermitted(message)


def apply(connection: Connection, grants: Sequence[Grant]) -> Outcome:
    """Run each statement by itself, whole or not at all; what this role may not grant does not stop the others."""
    warnings: list[str] = []
    granted: list[Grant] = []
    refused: list[Refusal] = []

    def notice(diagnostic: Diagnostic) -> None:
        if diagnostic.sqlstate == _NOT_ALL_GRANTED:
            warnings.append(str(diagnostic.message_primary))

    connection.add_notice_handler(notice)
    try:
        for grant in grants:
            if not grant.statement:
                continue
            warnings.clear()
            try:
                _run(connection, grant, warnings)
            except NotPermitted as error:
                refused.append(Refusal(grant, error))
            else:
                granted.append(grant)
    finally:
        connection.remove_notice_handler(notice)
    return Outcome(tuple(granted), tuple(refused))


def _run(connection: Connection, grant: Grant, warnings: Sequence[str]) -> None:
    with connection.transaction():
        with driver_errors(f"run {grant.statement}"):
            connection.execute(grant.statement.encode())
        if warnings:
            raise NotPermitted(f"could not run {grant.statement}: {warnings[0]}")


def _monitor(role: str, *, monitors: bool) -> Iterator[Grant]:
    """Last, for the owner of the tables may not grant it."""
    if not monitors:
        why = (
            "to see other sessions and their transactions; only a superuser or an admin of pg_monitor may grant it;"
            " without it what holds vacuum back, blocks and waits is told in part or not at all"
        )
        yield Grant(why, f"GRANT pg_monitor TO {quoted(role)}")


def _own_schema(connection: Connection, role: str, tiers: Collection[Tier]) -> Iterator[Grant]:
    version = installed(connection)
    if version is None:
        yield Grant("the schema pgq_ops is not installed; after `pgq-ops install` it needs grants too")
        return
    to = f"TO {quoted(role)}"
    why = "to read what pgq-ops remembers"
    yield Grant(why, f"GRANT USAGE ON SCHEMA pgq_ops {to}")
    yield Grant(why, f"GRANT SELECT ON TABLE pgq_ops.schema_version, pgq_ops.task, pgq_ops.reap_log {to}")
    if version >= FINDINGS_SINCE:
        history = "pgq_ops.finding, pgq_ops.finding_change, pgq_ops.watch"
        yield Grant(why, f"GRANT SELECT ON TABLE {history} {to}")
        if set(tiers) != {Tier.DEAD}:  # which is a person's, not the agent's
            why = "to remember what was wrong when; an agent that only observes does so too"
            yield Grant(why, f"GRANT INSERT, UPDATE, DELETE ON TABLE pgq_ops.finding, pgq_ops.watch {to}")
            yield Grant(why, f"GRANT INSERT, DELETE ON TABLE pgq_ops.finding_change {to}")
    if set(tiers) - {Tier.OBSERVE, Tier.DEAD}:
        yield Grant("to remember the runs of tasks", f"GRANT INSERT, UPDATE, DELETE ON TABLE pgq_ops.task {to}")
    if Tier.REAP in tiers:
        yield Grant("to remember what was reaped", f"GRANT INSERT, DELETE ON TABLE pgq_ops.reap_log {to}")
    if version >= SETTINGS_SINCE:
        yield Grant(why, f"GRANT SELECT ON TABLE pgq_ops.setting {to}")
        if Tier.TUNE in tiers:
            why = "to keep the values that storage parameters had before they were set"
            yield Grant(why, f"GRANT INSERT, UPDATE, DELETE ON TABLE pgq_ops.setting {to}")
    if Tier.DEAD in tiers:
        yield Grant("to remember what was retried", f"GRANT INSERT ON TABLE pgq_ops.reap_log {to}")
