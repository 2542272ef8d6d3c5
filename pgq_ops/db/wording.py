"""The errors of a session as a log line, or a person at a glance, gets them."""

from __future__ import annotations

import psycopg
from psycopg import errors

from pgq_ops.db.failures import MOST_CHARACTERS, shortened
from pgq_ops.errors import PgqOpsError, TableChanged
from pgq_ops.logs import one_line

# Names that are gone, types that no longer fit, privileges that were taken.
_NAMES_TYPES_AND_RIGHTS = "42"


def in_words(error: BaseException) -> str:
    """What went wrong on one line: the driver's errors with their SQLSTATE, without the piece of SQL they quote."""
    if isinstance(error, errors.LockNotAvailable):
        return "locked by another session just now"
    if isinstance(error, psycopg.Error):
        message = shortened(error.diag.message_primary or str(error), MOST_CHARACTERS)
        text = one_line(message) or type(error).__name__
        return f"{text} (SQLSTATE {error.sqlstate})" if error.sqlstate else text
    text = one_line(str(error))
    if isinstance(error, PgqOpsError):
        return text
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def tells_of_change(error: BaseException | None) -> bool:
    """Whether a table, a column, its type or a privilege is not what it was when the job table was bound."""
    if isinstance(error, TableChanged):
        return True
    states = [one.sqlstate for one in (error, error and error.__cause__) if isinstance(one, psycopg.Error)]
    return bool(states) and (states[0] or "").startswith(_NAMES_TYPES_AND_RIGHTS)
