"""The driver's errors: which of them end a session, which only say that something is locked, and ours for them."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

import psycopg
from psycopg import errors

from pgq_ops.errors import DatabaseFailed, DatabaseUnreachable, NotPermitted

if TYPE_CHECKING:
    from collections.abc import Iterator

_WHERE_ONE_GOES = "set PGPASSWORD, or write a line for this server into ~/.pgpass"

# After either the server has closed the session. An error of any other severity leaves it as it was, whatever its
# SQLSTATE says: a trigger may raise what it got from another server ("could not connect").
_ENDS_SESSION = ("FATAL", "PANIC")
# The server only reads: also raised, with a context, by a function that set its transaction so.
_READ_ONLY = "25006"
# Of somebody between, who tells no severity. Ended by an administrator, a crash, a shutdown; for being idle, in a
# transaction too, or long in one; no room left.
_LOSSES = ("57P01", "57P02", "57P03", "57P05", "25P03", "25P04", "53300")
# More than this of a message is nobody's reading: a function may raise megabytes.
MOST_CHARACTERS = 2_000


@contextmanager
def driver_errors(doing: str, secrets: tuple[str, ...] = ()) -> Iterator[None]:
    """Turn the driver's errors into ours: `doing` says what was tried ("read the jobs")."""
    try:
        yield
    except errors.InsufficientPrivilege as error:
        raise NotPermitted(f"could not {doing}: {_message(error, secrets)}") from error
    except psycopg.Error as error:
        if is_connection_loss(error):
            raise DatabaseUnreachable(f"could not {doing}: {_message(error, secrets)}") from error
        raise DatabaseFailed(f"could not {doing}: {_message(error, secrets)}") from error


def is_connection_loss(error: BaseException) -> bool:
    """Whether the session is gone or of no more use, a server that became read-only included (25006)."""
    if isinstance(error, psycopg.InterfaceError):
        return True
    if not isinstance(error, psycopg.Error):
        return False
    state = error.sqlstate
    if state is None:  # libpq's own
        return isinstance(error, psycopg.OperationalError)
    if state == _READ_ONLY:
        return error.diag.context is None
    severity = error.diag.severity_nonlocalized or error.diag.severity
    if severity is not None:
        return severity in _ENDS_SESSION
    return state[:2] in ("08", "28", "3D") or state in _LOSSES


def is_busy(error: BaseException) -> bool:
    """Whether a lock or a deadlock stood in the way: to be tried again later, no failure."""
    return isinstance(error, errors.LockNotAvailable | errors.DeadlockDetected | errors.SerializationFailure)


def shortened(text: str, characters: int) -> str:
    """The text, cut to so many characters; a cut one ends with dots."""
    return text if len(text) <= characters else f"{text[: characters - 3]}..."


def _message(error: psycopg.Error, secrets: tuple[str, ...]) -> str:
    text = error.diag.message_primary or str(error) or type(error).__name__
    for secret in secrets:
        text = text.replace(secret, "***")
    text = shortened(text, MOST_CHARACTERS)
    # libpq says its hints, and each address it tried, in lines of their own.
    lines = (" ".join(line.split()) for line in text.splitlines() if line.strip())
    sentence = "; ".join(lines).replace(":; ", ": ")
    return f"{sentence} ({_WHERE_ONE_GOES})" if "no password supplied" in sentence else sentence
