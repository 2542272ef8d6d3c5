"""Who keeps VACUUM from removing dead rows of this database's tables."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Holder:
    """One of those who hold the horizon back; `kind` is `backend`, `prepared`, `slot` or `standby`.

    `name`: application_name, gid or slot. `seconds` since its transaction began (prepared: was prepared; None: not
    known). `xid_age`: transactions since. `remedy`: the command that ends it. `started`: of a session's transaction,
    as `pgq-ops transactions` prints it.
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


@dataclass(frozen=True, slots=True)
class Horizon:
    """The holders, the oldest first, and the horizon's age in transactions, which tells more than any one of them.

    `catalog_xmin_age` is that of logical slots, which hold catalogs back and no user's table; None without any.
    `visible`: whether the role sees other sessions' transactions; what it does not see is missing, not absent.
    """

    age_xids: int
    holders: tuple[Holder, ...] = ()
    catalog_xmin_age: int | None = None
    visible: bool = True
