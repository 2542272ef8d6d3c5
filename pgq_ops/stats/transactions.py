"""Client sessions with an open transaction in this database."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Transaction:
    """One session's transaction. `started` is its exact start (epoch seconds as text), by which it is recognised.

    `seconds`: since it began; `idle_seconds`: since it last did anything, None while a statement runs. `xid_age`: None
    where it holds no snapshot and has written nothing. `superuser`: its role is one.
    """

    pid: int
    started: str
    application_name: str
    user: str
    client: str
    state: str
    seconds: float
    idle_seconds: float | None
    xid_age: int | None
    superuser: bool
    query: str = ""


@dataclass(frozen=True, slots=True)
class Transactions:
    """The longest first. `visible`: whether the role sees other sessions; without it `sessions` are its own at most."""

    sessions: tuple[Transaction, ...] = ()
    visible: bool = True
