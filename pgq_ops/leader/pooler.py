"""Notices a transaction pooler, behind which a session's locks and settings land on anybody's server process."""

from __future__ import annotations

from typing import TYPE_CHECKING

from psycopg.conninfo import make_conninfo

from pgq_ops import sql
from pgq_ops.db.answers import AnsweringConnection
from pgq_ops.errors import PgqOpsError

if TYPE_CHECKING:
    from pgq_ops.db.connection import Connection

# A pooler hands the server that was given back last to whoever asks next (PgBouncer: server_round_robin = 0), so one
# round tells; more are for one that takes turns, or is busy with others.
_ROUNDS = 5


class SharedServerProcess(PgqOpsError):
    """The connection goes through a transaction pooler, so it can hold neither locks nor settings."""

    exit_code = 3

    def __init__(self) -> None:
        super().__init__(
            "the connection goes through a pooler that gives each transaction another server process "
            "(PgBouncer's pool_mode = transaction): leadership and settings need a session of their own; "
            "set database.direct_dsn to the server itself, past the pooler"
        )


def refuse_shared_process(connection: Connection) -> None:
    """Raise SharedServerProcess where the session's server process is shared with other clients.

    Directly connected, the process that libpq was told of at the start is the one that answers. Where it is not,
    there is a pooler, and a second session tells which kind: one that pools sessions gives each a process
    of its own and keeps it.
    """
    pid = _pid(connection)
    if pid == connection.info.backend_pid:
        return
    dsn = make_conninfo(connection.info.dsn, password=connection.info.password or None)
    with AnsweringConnection.connect(dsn, autocommit=True, prepare_threshold=None) as other:
        for _ in range(_ROUNDS):
            if _pid(other) == pid or _pid(connection) != pid:
                raise SharedServerProcess


def _pid(connection: Connection) -> int:
    return int(connection.execute(sql.statement("leader/backend_pid"), {}).fetchall()[0][0])
