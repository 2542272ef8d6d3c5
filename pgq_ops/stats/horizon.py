"""Who keeps VACUUM from removing dead rows of this database's tables."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING

from pgq_ops import sql
from pgq_ops.stats import bounded
from pgq_ops.stats.horizon_remedies import remedy_of
from pgq_ops.stats.horizon_rows import Row, Rows

if TYPE_CHECKING:
    from collections.abc import Iterable

    from psycopg import sql as composing

    from pgq_ops.db.connection import Connection

KINDS = ("backend", "prepared", "slot", "standby")


@dataclass(frozen=True, slots=True)
class Holder:
    """One of those who hold the horizon back; `kind` is `backend`, `prepared`, `slot` or `standby`.

    `name`: application_name, gid or slot. `seconds` since its transaction began (prepared: was prepared; slot: nobody
    has used it; None: not known). `xid_age`: transactions since. `remedy`: the command that ends it, in a shell for a
    client's session and in SQL for all else. `started`: of a session's transaction, as `pgq-ops transactions` prints
    it. `backend_type`: of a session, as pg_stat_activity has it. `wrote`: it is as old as its own transaction; a
    snapshot may be as old as that of somebody else who was writing when it was taken. `database`: where it is, if it
    writes in another one and snapshots that are taken here have to see it.
    """

    kind: str
    pid: int | None
    name: str
    user: str
    state: str
    seconds: float | None
    xid_age: int
    remedy: str
    started: str = ""
    backend_type: str = ""
    wrote: bool = False
    database: str = ""


@dataclass(frozen=True, slots=True)
class Horizon:
    """The holders, and the horizon's age in transactions, which tells more than any one of them.

    The oldest holders come first, and who wrote before those that only have to see it.
    `catalog_xmin_age` is that of logical slots, which hold catalogs back and no user's table; None without any.
    `visible`: whether the role sees other sessions' transactions; what it does not see is missing, not absent. `role`:
    the one that looked. `elsewhere`: all who write in other databases, whether or not a snapshot here has to see them
    just now, and they are among the holders.

    `hidden`: how many clients' sessions do not tell what they do. `standby`: the server is one, where nobody's rows are
    vacuumed, and whoever reads holds back at most its primary, where that is told.
    """

    age_xids: int
    holders: tuple[Holder, ...] = ()
    catalog_xmin_age: int | None = None
    visible: bool = True
    role: str = ""
    elsewhere: tuple[Holder, ...] = ()
    hidden: int = 0
    standby: bool = False

    @property
    def all_told(self) -> bool:
        """Whether every session's state and times are known."""
        return self.visible and not self.hidden


def read(connection: Connection) -> Horizon:
    """Look once, at no table and waiting for nothing. Raises the driver's errors."""
    [found] = bounded.planned(connection, [_look()], {})
    rows = Rows([Row(*row) for row in found])
    holders = oldest_first(_holder(kind, row, xid_age, rows.ours) for kind, row, xid_age in rows.holding())
    elsewhere = oldest_first(_holder(kind, row, xid_age, rows.ours) for kind, row, xid_age in rows.elsewhere())
    return Horizon(
        max((holder.xid_age for holder in holders), default=0),
        holders,
        max((0, *rows.catalog_ages)) if rows.catalog_ages else None,
        rows.ours.visible is True,
        rows.ours.user or "",
        elsewhere,
        rows.hidden,
        rows.standby,
    )


def oldest_first(holders: Iterable[Holder]) -> tuple[Holder, ...]:
    """The order in which they are told."""
    return tuple(
        sorted(holders, key=lambda one: (-one.xid_age, not one.wrote, -(one.seconds or 0.0), one.name, one.pid or 0))
    )


def _holder(kind: str, row: Row, xid_age: int, ours: Row) -> Holder:
    seconds = None if row.began is None else max(0.0, float(ours.began or 0) - float(row.began))
    elsewhere = (row.database or "") if row.database != ours.database else ""
    return Holder(
        kind,
        row.pid,
        row.name or "",
        row.user or "",
        row.state or "",
        seconds,
        xid_age,
        remedy_of(kind, row, elsewhere),
        (row.began or "") if kind == "backend" else "",
        row.backend_type or "",
        wrote=row.own_age is not None and row.own_age == row.xid_age,
        database=elsewhere,
    )


@cache
def _look() -> composing.SQL:
    return bounded.composed_once(sql.statement("stats/horizon"))
