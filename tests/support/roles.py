"""Roles that live as long as a test."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
from psycopg import sql

from tests.support.database import ROLE_PASSWORD, unique

if TYPE_CHECKING:
    from tests.support.postgres import Server


class Roles:
    """Makes roles with names of their own; `drop()` removes them once the test's databases are gone."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self._made: list[str] = []

    def __call__(self, name: str = "role", options: str = "LOGIN", *, member_of: tuple[str, ...] = ()) -> str:
        """Create a role with SQL `options`, as a member of others such as `pg_monitor`; returns its name."""
        role = unique(name)
        create = sql.SQL(f"CREATE ROLE {{}} {options} PASSWORD {{}}")
        with psycopg.connect(self._server.dsn, autocommit=True) as admin:
            admin.execute(create.format(sql.Identifier(role), sql.Literal(ROLE_PASSWORD)))
            self._made.append(role)
            for group in member_of:
                admin.execute(sql.SQL("GRANT {} TO {}").format(sql.Identifier(group), sql.Identifier(role)))
        return role

    def drop(self) -> None:
        """Drop the roles, the latest first, with what they own outside the test's databases."""
        with psycopg.connect(self._server.dsn, autocommit=True) as admin:
            for role in map(sql.Identifier, reversed(self._made)):
                admin.execute(sql.SQL("DROP OWNED BY {} CASCADE").format(role))
                admin.execute(sql.SQL("DROP ROLE {}").format(role))
