"""Which version of the `pgq_ops` schema is installed, and bringing it to the newest.

The DDL lies in `sql/schema/NNNN_name.sql`, one file a version, each applied in a transaction of its own.
A file once released is never changed: a change is a new file.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from psycopg.sql import SQL

from pgq_ops import sql
from pgq_ops.db.failures import driver_errors
from pgq_ops.errors import NotInstalled, NotPermitted, PgqOpsError
from pgq_ops.job_table.pasting import pasted
from pgq_ops.job_table.quoting import identifier, literal

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection

_FILE = re.compile(r"(?P<number>\d{4})_(?P<name>\w+)\.sql")

# Two installers at once wait for each other. Any number does that no other tool is likely to lock.
_LOCK = int.from_bytes(b"pgq-ops")


@dataclass(frozen=True, slots=True)
class Version:
    """One version of the schema; `ddl` brings the version before it to this one."""

    number: int
    name: str
    ddl: str

    def step(self) -> str:
        """One statement, and so one transaction, that applies the version where it is not there yet."""
        places = {"number": literal(self.number), "name": literal(self.name), "ddl": SQL(self.ddl)}
        return sql.statement("schema/step", places | {"lock": literal(_LOCK)}).as_string()


@cache
def versions() -> tuple[Version, ...]:
    """Every version that this package knows, the oldest first."""
    names = (entry.name for entry in files("pgq_ops.sql").joinpath("schema").iterdir())
    matches = [match for name in sorted(names) if (match := _FILE.fullmatch(name))]
    return tuple(
        Version(int(match["number"]), match["name"], sql.text(f"schema/{match[0].removesuffix('.sql')}"))
        for match in matches
    )


def newest() -> int:
    """The version that this package needs."""
    return versions()[-1].number


def _bootstrap() -> str:
    return sql.statement("schema/bootstrap", {"lock": literal(_LOCK)}).as_string()


def script() -> str:
    """All of the DDL as a script for psql; running it twice changes nothing."""
    head = f"-- The schema pgq_ops of pgq-ops, version {newest()}. Running this twice changes nothing."
    statements = [_bootstrap(), *(version.step() for version in versions())]
    return "\n\n".join([head, *(f"{statement};" for statement in statements)]) + "\n"


def installed(connection: Connection) -> int | None:
    """The installed version, None where there is none.

    Raises NotPermitted where it is there and this role may not read it.
    """
    with driver_errors("look for the schema pgq_ops"):
        presence = connection.execute(sql.statement("log/schema_presence"), {}).fetchone()
        if presence is None:
            return None
        if not presence[0]:
            [(role,)] = connection.execute("SELECT current_user").fetchall()
            raise NotPermitted(
                "the schema pgq_ops is installed, and this role may not read it",
                f"GRANT USAGE ON SCHEMA pgq_ops TO {pasted(identifier(role))};"
                f" `pgq-ops grants` prints all that is needed",
            )
        row = connection.execute(sql.statement("log/schema_version"), {}).fetchone()
    return None if row is None else row[0]


def require(connection: Connection, what: str = "this") -> None:
    """Raise NotInstalled, saying that `what` needs it, unless the schema is there in the version that is needed."""
    found = installed(connection)
    if found is None:
        raise NotInstalled(f"{what} needs the schema pgq_ops, which is not installed: run `pgq-ops install`")
    if found < newest():
        raise NotInstalled(
            f"{what} needs version {newest()} of the schema pgq_ops, and {found} is installed: run `pgq-ops install`"
        )


def pending(connection: Connection) -> tuple[Version, ...]:
    """The versions that `install` would apply now. Raises PgqOpsError for a schema newer than this package."""
    found = installed(connection) or 0
    if found > newest():
        raise PgqOpsError(
            f"the schema pgq_ops has version {found}, and this pgq-ops knows {newest()} at most: upgrade pgq-ops"
        )
    return tuple(version for version in versions() if version.number > found)


def install(connection: Connection) -> tuple[Version, ...]:
    """Bring the schema to the newest version; returns what was missing. Two at once do no harm.

    Raises NotPermitted without CREATE on the database, PgqOpsError for a schema newer than this package.
    """
    missing = pending(connection)
    if missing:
        with driver_errors("install the schema pgq_ops"):
            for statement in [_bootstrap(), *(version.step() for version in missing)]:
                connection.execute(statement.encode())
    return missing
