"""How a session in the way is ended: as text to paste."""

from __future__ import annotations

from pgq_ops.db.undecodable import Undecodable
from pgq_ops.job_table.pasting import in_one_line, pasted
from pgq_ops.job_table.quoting import literal


def printed(pid: int, started: str) -> str:
    """A session in its transaction as `pgq-ops transactions` prints and takes it: PID@START."""
    return f"{pid}@{started}"


def remedy(pid: int, started: str | None, *, superuser: bool) -> str:
    """The command that ends a client's session, and that alone, while it is in the same transaction.

    `started`: None where it has no transaction that is known. What a superuser does only a superuser may end. It does
    not ask: in a block that is pasted, the next line would be the answer.
    """
    if started is None:
        return f"SELECT pg_terminate_backend({pid});"
    if superuser:
        return (
            f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid = {pid}"  # noqa: S608 (text to print, of two numbers)
            f" AND extract(epoch FROM xact_start) = {started};  -- as a superuser, for it is one's session"
        )
    return f"pgq-ops transactions end --yes {printed(pid, started)}"


def prepared_remedy(gid: str, database: str = "") -> str:
    """The command that gives up a prepared transaction, with what to know before; `database`: where, if another one."""
    where = f"database {in_one_line(database)}" if database else "its database"
    caution = f"-- in {where}; COMMIT PREPARED instead where its transaction manager has decided so"
    name = gid.pasted if isinstance(gid, Undecodable) else pasted(literal(gid))
    return f"{caution}\nROLLBACK PREPARED {name};"
