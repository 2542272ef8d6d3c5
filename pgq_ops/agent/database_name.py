"""What the database is called in the metrics before it has been reached."""

from __future__ import annotations

from typing import TYPE_CHECKING

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict

if TYPE_CHECKING:
    from pgq_ops.config.model import Database


def expected_database(database: Database) -> str:
    """The name as libpq would find it in the DSN or the environment; empty where only the server would know."""
    dsn = database.direct_dsn or database.dsn
    try:
        given = conninfo_to_dict(dsn.get_secret_value() if dsn is not None else "")
    except psycopg.Error:
        return ""
    known = {option.keyword.decode(): (option.val or b"").decode() for option in pq.Conninfo.get_defaults()}
    names = (given.get("dbname"), known.get("dbname"), given.get("user"), known.get("user"))
    return next((str(name) for name in names if name), "")
