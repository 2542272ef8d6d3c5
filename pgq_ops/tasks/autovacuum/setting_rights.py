"""As whom a leaf's parameters are changed, and what is missing where that cannot be."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import psycopg
from psycopg import errors

from pgq_ops.binding import catalog
from pgq_ops.db.failures import is_busy, is_connection_loss
from pgq_ops.db.wording import in_words
from pgq_ops.errors import NotPermitted
from pgq_ops.schema import settings
from pgq_ops.schema.table_grants import membership
from pgq_ops.tasks.autovacuum.setting_outcome import LeafOutcome, SettingFate

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection
    from pgq_ops.tasks.autovacuum.leaf_now import LeafNow


def require(connection: Connection, what: str) -> None:
    """Raise what keeps any parameter from being set: NotInstalled, NotPermitted (a standby, no GRANT); driver's errors.

    To be asked once before a run; then what is remembered is brought in line with the tables that there are.
    """
    if catalog.server(connection).in_recovery:
        raise NotPermitted(f"{what}: this server is a standby, where nothing can be changed: do it on its primary")
    settings.require(connection, what)
    settings.tidy(connection)


def acting_role(leaf: LeafNow, owner_role: str | None) -> str | None:
    """Whom to be: None for oneself, where that suffices or no `owner_role` is configured."""
    return None if leaf.may_change else owner_role


def lacking(connection: Connection, leaf: LeafNow, owner_role: str | None) -> LeafOutcome | None:
    """The outcome where the role is not the owner and has nobody to be; None where it can be tried."""
    if leaf.may_change or owner_role is not None:
        return None
    reason = f"role {leaf.role} may not change it: its owner is {leaf.owner}"
    if leaf.owner_is_superuser:
        return LeafOutcome(leaf.relation, SettingFate.NOT_PERMITTED, reason=f"{reason}, a superuser")
    grant = membership(connection.info.server_version, leaf.owner, leaf.role)
    reason += f"; grant that role, and set database.owner_role to {leaf.owner}"
    return LeafOutcome(leaf.relation, SettingFate.NOT_PERMITTED, reason=reason, grant=f"{grant};")


def failed(leaf: LeafNow, error: psycopg.Error) -> LeafOutcome:
    """The outcome where the database did not do it. Raises the error anew where the session is of no more use."""
    if is_connection_loss(error):
        raise error
    fate = SettingFate.REFUSED
    if is_busy(error):
        fate = SettingFate.BUSY
    elif isinstance(error, errors.InsufficientPrivilege):
        fate = SettingFate.NOT_PERMITTED
    elif isinstance(error, errors.UndefinedTable | errors.InvalidSchemaName):
        fate = SettingFate.GONE
    return LeafOutcome(leaf.relation, fate, reason=in_words(error))


def with_statement(outcome: LeafOutcome, statement: str) -> LeafOutcome:
    """The outcome with the SQL that somebody who may could run instead."""
    wants = outcome.fate in (SettingFate.NOT_PERMITTED, SettingFate.REFUSED)
    return replace(outcome, statement=statement) if wants else outcome
