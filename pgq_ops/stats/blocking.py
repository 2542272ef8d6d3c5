"""Sessions that wait for a lock, with the chain of those they wait for."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Waiter:
    """A session that waits for a lock, for `seconds` (None: not known), and whom it waits for (pids; 0: prepared).

    `tables`: oids of the tables that it waits for or holds locks on. `mode` and `what` describe the lock awaited.
    """

    pid: int
    application_name: str
    user: str
    seconds: float | None
    mode: str
    what: str
    blocked_by: tuple[int, ...]
    tables: frozenset[int]


@dataclass(frozen=True, slots=True)
class Blocker:
    """A session that others wait for, whether or not it waits itself."""

    pid: int
    application_name: str
    user: str
    state: str
    seconds: float | None
    tables: frozenset[int]
    remedy: str


@dataclass(frozen=True, slots=True)
class Blocking:
    """All waiting sessions of the database, and who is in their way, by pid."""

    waiters: tuple[Waiter, ...] = ()
    blockers: tuple[Blocker, ...] = ()
