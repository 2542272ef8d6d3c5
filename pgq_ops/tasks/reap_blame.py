"""Whether a batch that failed may be tried again without one of its rows, or whether no row is to blame; and why."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.db.failures import shortened

if TYPE_CHECKING:
    import psycopg

# Of the session, of the server's resources (a full disk), of its operation and its files; names that are not there,
# types that do not fit, privileges that are missing. In the reaper's own statement they concern every row; in a
# trigger's or a constraint's function, which has a context, maybe one.
_OF_THE_WHOLE = frozenset({"08", "25", "28", "3D", "3F", "42", "53", "57", "58"})
# A statement that took too long may have met one slow row; a full disk concerns every row, wherever it is met.
_CANCELLED, _DISK_FULL = "57014", "53100"
# Enough to see what is wrong. It is kept for each row, logged and printed, and a trigger may raise megabytes.
MOST_CHARACTERS = 500


def a_row_may_be_to_blame(error: psycopg.Error) -> bool:
    """Whether other rows than the one at fault may be written: then it is to be found, and the others taken.

    Not to be asked about a lost connection.
    """
    state = error.sqlstate or ""
    if state != _CANCELLED and state[:2] in _OF_THE_WHOLE:
        return bool(error.diag.context) and state != _DISK_FULL
    return True


def reason(error: psycopg.Error) -> str:
    """The database's own words, without the row's values (those may be anything)."""
    message = shortened(error.diag.message_primary or "", MOST_CHARACTERS)
    constraint = error.diag.constraint_name
    named = f" ({constraint})" if constraint and constraint not in message else ""
    return f"{error.sqlstate}: {message}{named}"
