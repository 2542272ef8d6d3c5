"""Whether a batch that failed may be tried again without one of its rows, or whether no row is to blame."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import psycopg

# Of the session, of the server's resources (a full disk), of its operation and its files. 57014 is the exception: a
# statement that took too long may have met one slow row.
_NO_ROW = frozenset({"08", "25", "53", "57", "58"})
_CANCELLED = "57014"
# Names that are not there, types that do not fit, privileges that are missing. In the reaper's own statement they
# concern every row; in a trigger's or a constraint's function, which has a context, maybe one.
_OF_THE_STATEMENT = frozenset({"3F", "42"})


def a_row_may_be_to_blame(error: psycopg.Error) -> bool:
    """Whether other rows than the one at fault may be written: then it is to be found, and the others taken."""
    state = error.sqlstate or ""
    if state[:2] in _OF_THE_STATEMENT:
        return bool(error.diag.context)
    return state == _CANCELLED or state[:2] not in _NO_ROW
