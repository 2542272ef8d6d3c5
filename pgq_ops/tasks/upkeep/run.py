"""Runs one VACUUM or ANALYZE: gently, for a bounded time, giving way, and sure of what it did."""

from __future__ import annotations

import time
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import psycopg
from psycopg import errors

from pgq_ops import sql
from pgq_ops.db.connection import MAINTENANCE_LIMITS, bound
from pgq_ops.db.failures import is_busy, is_connection_loss
from pgq_ops.db.wording import in_words
from pgq_ops.tasks.upkeep import standing as standings
from pgq_ops.tasks.upkeep.ending import VacuumEnd, VacuumFate
from pgq_ops.tasks.upkeep.notices import warnings_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pgq_ops.db.answers import AnsweringConnection
    from pgq_ops.job_table.table import JobTable
    from pgq_ops.tasks.upkeep.order import Order
    from pgq_ops.tasks.upkeep.standing import Standing
    from pgq_ops.tasks.upkeep.yielding import Watch

# At most 10,000 pages dirtied, or 100,000 read, a second (a rest for each 200 that a page's cost of 20, or 2, adds up
# to): twice as fast as autovacuum by default, and no disk's all.
COST_DELAY_MS, COST_LIMIT = 1, 200
# Fewer dead rows that are left say nothing: they died while it was at work.
FEW_ROWS = 1_000
# Before PostgreSQL 15 the statistics come by messages, and are read from a file that is written twice a second.
_COUNTED_WITHIN_SECONDS, _LOOK_AGAIN_SECONDS = 3.0, 0.05

# A statement that is asked to end does so within milliseconds, wherever it is.
_CANCELLED_WITHIN_SECONDS = 3.0


@dataclass(frozen=True, slots=True)
class Terms:
    """How one may be run: whom to be where the role itself may not; for how long; how many rows die a second."""

    owner_role: str | None = None
    seconds: float = 60.0
    dying: float = 0.0
    counts: bool = True


def run(connection: AnsweringConnection, table: JobTable, order: Order, terms: Terms, watch: Watch) -> VacuumEnd:
    """Run it. Raises the driver's errors only where the connection is lost."""
    began = time.monotonic()
    try:
        standing = standings.read(connection, order.relation, terms.owner_role)
        if standing is None:
            return VacuumEnd(order, VacuumFate.NOTHING, reason="the table is there no longer")
        if standing.role is None:
            grant = standings.grant(connection, order.relation, standing.owner)
            reason = f"role {connection.info.user} may not {'ANALYZE' if order.parent else 'VACUUM'} it"
            return VacuumEnd(order, VacuumFate.NOT_PERMITTED, reason=reason, grant=grant)
        order = replace(order, toast=standing.toast)
        with _gently(connection, terms.seconds), _acting_as(connection, standing.role):
            end = _watched(connection, table, order, terms, watch)
        end = end if end is not None else _verified(connection, order, standing, terms, time.monotonic() - began)
    except psycopg.Error as error:
        if is_connection_loss(error):
            raise
        end = VacuumEnd(order, _fate_of(error), reason=in_words(error))
    return replace(end, seconds=time.monotonic() - began)


def _watched(
    connection: AnsweringConnection, table: JobTable, order: Order, terms: Terms, watch: Watch
) -> VacuumEnd | None:
    """The statement alone; None where it succeeded without a warning."""
    began, end_it, cancelled = time.monotonic(), _Ending(), False
    with warnings_of(connection) as warnings, watch.over(table, connection.info.backend_pid) as watched:

        def look() -> None:
            if watched.must_end():
                end_it.now(connection)

        try:
            with connection.meanwhile(look):
                connection.execute(order.statement(connection.info.server_version), {})
        except errors.QueryCanceled:
            cancelled = True
    if cancelled:  # only now that nobody watches any more, it is known for whom
        reason = watched.cancelled_for()
        if not reason and time.monotonic() - began >= terms.seconds:
            return VacuumEnd(order, VacuumFate.UNFINISHED, reason=f"not done within {terms.seconds:.0f} s")
        return VacuumEnd(order, VacuumFate.CANCELLED, reason=reason or "somebody cancelled it")
    if warnings.locked:
        return VacuumEnd(order, VacuumFate.BUSY, reason=str(warnings))
    return VacuumEnd(order, VacuumFate.FAILED, reason=str(warnings)) if warnings.texts else None


@dataclass(slots=True)
class _Ending:
    """Ends a statement from within its own wait: by cancelling it, else with its connection."""

    _since: float | None = None

    def now(self, connection: AnsweringConnection) -> None:
        """Ask once more; nobody may be there to be asked."""
        self._since = time.monotonic() if self._since is None else self._since
        if time.monotonic() - self._since > _CANCELLED_WITHIN_SECONDS:
            connection.cut()
            return
        with suppress(psycopg.Error, OSError):
            connection.cancel_safe(timeout=1)


def _verified(
    connection: AnsweringConnection, order: Order, before: Standing, terms: Terms, seconds: float
) -> VacuumEnd:
    """What the statistics say of it: a statement that was let through need not have done anything."""
    deadline = time.monotonic() + _COUNTED_WITHIN_SECONDS
    while True:
        vacuums, analyzes, dead, at = _counted(connection, order)
        done = analyzes > before.analyzes if order.parent else vacuums > before.vacuums
        if done or not terms.counts or time.monotonic() >= deadline:
            break
        time.sleep(_LOOK_AGAIN_SECONDS)
    if not terms.counts:
        return VacuumEnd(order, VacuumFate.OK, at=at)
    if not done:
        return VacuumEnd(order, VacuumFate.FAILED, reason="the statistics know nothing of it")
    if order.parent:
        return VacuumEnd(order, VacuumFate.OK, at=at)
    removed = max(0, before.dead_rows - dead)
    kept = dead - terms.dying * seconds
    fate = VacuumFate.USELESS if kept >= max(FEW_ROWS, before.dead_rows / 2) else VacuumFate.OK
    return VacuumEnd(order, fate, removed_rows=removed, left_rows=dead, at=at)


def _counted(connection: AnsweringConnection, order: Order) -> tuple[int, int, int, float]:
    parameters = {"oid": order.relation.oid}
    try:
        row = connection.execute(sql.statement("vacuum/counted"), parameters).fetchone()
    except errors.QueryCanceled:  # meant for the statement before, which was over by then
        row = connection.execute(sql.statement("vacuum/counted"), parameters).fetchone()
    return row or (0, 0, 0, 0.0)


@contextmanager
def _gently(connection: AnsweringConnection, seconds: float) -> Iterator[None]:
    """At a pace that leaves the disk to others, and for no longer than so many seconds."""
    connection.execute(sql.statement("vacuum/pace"), {"delay_ms": COST_DELAY_MS, "limit": COST_LIMIT})
    bound(connection, replace(MAINTENANCE_LIMITS, statement_ms=round(seconds * 1000)))
    try:
        yield
    finally:
        if not connection.closed:
            bound(connection, MAINTENANCE_LIMITS)


@contextmanager
def _acting_as(connection: AnsweringConnection, role: str) -> Iterator[None]:
    """Be the role within, where that is another one than the session's own."""
    if role == connection.info.user:
        yield
        return
    connection.execute(sql.statement("vacuum/take_role"), {"role": role})
    try:
        yield
    finally:
        if not connection.closed:
            connection.execute(sql.statement("vacuum/take_role"), {"role": "none"})


def _fate_of(error: psycopg.Error) -> VacuumFate:
    if is_busy(error):
        return VacuumFate.BUSY
    if isinstance(error, errors.InsufficientPrivilege):
        return VacuumFate.NOT_PERMITTED
    return VacuumFate.NOTHING if isinstance(error, errors.UndefinedTable) else VacuumFate.FAILED
