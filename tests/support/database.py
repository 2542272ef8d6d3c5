"""A fresh database for one test."""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import sql

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from tests.support.postgres import Server

    Parameters = Mapping[str, Any] | Sequence[Any] | None

ROLE_PASSWORD = "a test's role"  # noqa: S105 (the roles live as long as a test)


def unique(name: str) -> str:
    """A name that no other test, worker or run uses."""
    return f"{name}_{secrets.token_hex(4)}"


class Database:
    """An empty database, made when this is made, dropped by `drop()` whatever is still connected to it."""

    def __init__(self, server: Server, name: str = "test") -> None:
        self.server = server
        self.name = unique(name)
        self.dsn = server.dsn_of(self.name)
        self._opened: list[psycopg.Connection[Any]] = []
        self._own: psycopg.Connection[Any] | None = None
        server.execute(f'CREATE DATABASE "{self.name}" TEMPLATE template0')

    def dsn_as(self, role: str) -> str:
        """Connection string for a role made by `make_role`."""
        return self.server.dsn_of(self.name, user=role, password=ROLE_PASSWORD)

    def connect(self, **options: Any) -> psycopg.Connection[Any]:
        """Open a connection, in autocommit mode unless asked; `user=` takes a role made by `make_role`."""
        if "user" in options:
            options.setdefault("password", ROLE_PASSWORD)
        connection = psycopg.connect(self.dsn, **{"autocommit": True, **options})
        self._opened.append(connection)
        return connection

    def adopt(self, connection: psycopg.Connection[Any]) -> None:
        """Close a connection that was opened elsewhere when the database goes."""
        self._opened.append(connection)

    def execute(self, query: str, params: Parameters = None) -> int:
        """Run a statement, or several without parameters; returns the rows it touched (-1 where there are none)."""
        return self._connection().execute(query.encode(), params).rowcount

    def rows(self, query: str, params: Parameters = None) -> list[tuple[Any, ...]]:
        """All rows of a query, as tuples."""
        return self._connection().execute(query.encode(), params).fetchall()

    def value(self, query: str, params: Parameters = None) -> Any:
        """The one value of a query that returns one row with one column."""
        [(value,)] = self.rows(query, params)
        return value

    def drop(self) -> None:
        """Close what was opened here, end what else is there, drop the database."""
        for connection in self._opened:
            connection.close()
        with psycopg.connect(self.server.dsn, autocommit=True) as admin:
            self._undo_what_forbids_dropping(admin)
            admin.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(self.name)))

    def _connection(self) -> psycopg.Connection[Any]:
        if self._own is None or self._own.closed:
            self._own = self.connect(application_name="test")
        return self._own

    def _undo_what_forbids_dropping(self, admin: psycopg.Connection[Any]) -> None:
        """Prepared transactions and logical slots keep a database, even from FORCE."""
        prepared = admin.execute("SELECT gid FROM pg_prepared_xacts WHERE database = %s", [self.name]).fetchall()
        for (gid,) in prepared:
            with psycopg.connect(self.dsn, autocommit=True) as connection:
                connection.execute(sql.SQL("ROLLBACK PREPARED {}").format(sql.Literal(gid)))
        slots = "SELECT slot_name, active_pid FROM pg_replication_slots WHERE database = %s"
        for slot, pid in admin.execute(slots, [self.name]).fetchall():
            if pid is not None:
                admin.execute("SELECT pg_terminate_backend(%s, 5000)", [pid])
            admin.execute("SELECT pg_drop_replication_slot(%s)", [slot])
