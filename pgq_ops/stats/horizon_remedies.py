"""How each kind of horizon holder is made to let go: as text to paste, in a shell or in psql."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pgq_ops.job_table.pasting import in_one_line, pasted
from pgq_ops.job_table.quoting import literal
from pgq_ops.stats.session_ending import prepared_remedy, remedy

if TYPE_CHECKING:
    from pgq_ops.stats.horizon_rows import Row

CLIENT = "client backend"
_AUTOVACUUM = "autovacuum worker"

# What a standby's sessions hold, the primary cannot end. Feedback goes out each wal_receiver_status_interval (10 s).
_ON_THE_STANDBY = """\
-- on the standby: who holds it back, the oldest first (SELECT pg_terminate_backend(pid) ends one)
SELECT pid, usename, application_name, state, xact_start FROM pg_stat_activity
WHERE backend_xmin IS NOT NULL AND pid <> pg_backend_pid() ORDER BY age(backend_xmin) DESC;
-- or for good, on the standby: its queries are cancelled then where they are in the way of what the primary cleaned up
ALTER SYSTEM SET hot_standby_feedback = off;
SELECT pg_reload_conf();"""


def remedy_of(kind: str, row: Row, elsewhere: str = "") -> str:
    """The command that ends the holder, with what to know before as an SQL comment. `elsewhere`: another database."""
    if kind == "standby" or (kind == "slot" and row.pid is not None):
        return _ON_THE_STANDBY
    if kind == "slot":
        return _slot(row.name or "")
    if kind == "prepared":
        return prepared_remedy(row.name or "", elsewhere)
    return _session(row, elsewhere)


def _slot(name: str) -> str:
    return (
        "-- nobody uses the slot: start its standby again, or, where that is gone for good, drop it (a standby that\n"
        "-- comes back later must be made anew if the WAL that it needs is gone)\n"
        f"SELECT pg_drop_replication_slot({pasted(literal(name))});"
    )


def _session(row: Row, elsewhere: str) -> str:
    pid = row.pid or 0
    if elsewhere and row.began is not None:
        return (
            f"-- it is in database {in_one_line(elsewhere)}\nSELECT pg_terminate_backend(pid) FROM pg_stat_activity"
            f" WHERE pid = {pid} AND extract(epoch FROM xact_start) = {row.began};"
        )
    if row.backend_type == _AUTOVACUUM:
        why = "-- autovacuum, which analyzes: it ends by itself, and begins again if it is cancelled"
        return f"{why}\nSELECT pg_cancel_backend({pid});"
    if row.backend_type in {CLIENT, None}:
        return remedy(pid, row.began, superuser=bool(row.superuser))
    return f"-- a {in_one_line(row.backend_type)}\nSELECT pg_terminate_backend({pid});"
