"""The DSN as libpq's keywords, with our own defaults, and the secrets in it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import psycopg
from psycopg import pq
from psycopg.conninfo import conninfo_to_dict

from pgq_ops.config.dsn import SECRET_KEYWORDS
from pgq_ops.errors import ConfigError, Problem

if TYPE_CHECKING:
    from pgq_ops.config.model import Database

# libpq's side: a dead server is noticed within about 14 s. A DSN's own values win.
_CLIENT_DEFAULTS = {
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "3",
    "keepalives_count": "3",
    "tcp_user_timeout": "14000",
}


def parameters(database: Database, *, direct: bool) -> dict[str, Any]:
    """The DSN as libpq's keywords, with our defaults for what neither it nor the environment says."""
    key, secret = "database.dsn", database.dsn
    if direct and database.direct_dsn is not None:
        key, secret = "database.direct_dsn", database.direct_dsn
    dsn = secret.get_secret_value() if secret is not None else ""
    given = _parsed(key, dsn)
    known = {option.keyword.decode(): option.val for option in pq.Conninfo.get_defaults()}
    for name, value in _CLIENT_DEFAULTS.items():
        if name not in given and not known.get(name):
            given[name] = value
    if "," in str(given.get("host", "")):
        given.setdefault("target_session_attrs", "read-write")
    return given


def _parsed(key: str, dsn: str) -> dict[str, Any]:
    """The DSN as libpq itself reads it. Its error texts quote pieces of it, maybe of the password: never shown."""
    hint = (
        "in a URI write @ : / ? # % and spaces in user and password percent-encoded;"
        " in key=value form quote values with '...'"
    )
    try:
        parsed: dict[str, Any] = conninfo_to_dict(dsn)
    except UnicodeError:
        raise ConfigError((Problem(key, "holds bytes that are no UTF-8", hint),)) from None
    except psycopg.Error:
        raise ConfigError((Problem(key, "is not a connection string that libpq can read", hint),)) from None
    ports = [port for port in str(parsed.get("port", "")).split(",") if port]
    uri = dsn.startswith(("postgresql://", "postgres://"))
    if any(not port.isdigit() for port in ports):
        what = "has a port that is no number: a slip of the pen, or a piece of the password that libpq reads as port"
        raise ConfigError((Problem(key, what, hint),))
    if uri and any("@" in str(parsed.get(part, "")) for part in ("host", "dbname")):
        raise ConfigError((Problem(key, "is read by libpq with a piece of the password as host or database", hint),))
    return parsed


def secrets(parameters: dict[str, Any]) -> tuple[str, ...]:
    """The secrets among libpq's keywords."""
    return tuple(str(parameters[name]) for name in sorted(SECRET_KEYWORDS) if parameters.get(name))
