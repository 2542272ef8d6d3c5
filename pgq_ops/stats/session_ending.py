"""How a session in the way is ended: as text to paste."""

from __future__ import annotations

from pgq_ops.job_table.quoting import literal


def printed(pid: int, started: str) -> str:
    """A session in its transaction as `pgq-ops transactions` prints and takes it: PID@START."""
    return f"{pid}@{started}"


def remedy(pid: int, started: str | None, *, superuser: bool) -> str:
    """The command that ends a client's session, and that alone, while it is in the same transaction.

    `started`: None where it has no transaction that is known. What a superuser does only a superuser may end.
    """
    if started is None:
        return f"SELECT pg_terminate_backend({pid});"
    if superuser:
        return (
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = {pid}"  # noqa: S608 (text to print, of two numbers)
            f" AND extract(epoch FROM xact_start) = {started};  -- as a superuser, for it is one's session"
        )
    return f"pgq-ops transactions end {printed(pid, started)}"


def prepared_remedy(gid: str) -> str:
    """The command that gives up a prepared transaction, in its own database."""
    return f"ROLLBACK PREPARED {literal(gid).as_string(None).replace('%%', '%')};"
